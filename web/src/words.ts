/** Every text of the viewer, English and Chinese. Terms of the field stay as the field writes them. One section a page or
 * panel; keys are "section.what". `{0}` is filled in by t(). */
import { Atom } from "./base/atom";

const WORDS = {
  // --- frame ---------------------------------------------------------------------------------------------------------
  "tab.timeline": ["Timeline", "时间线"],
  "tab.pipeline": ["Pipeline", "流水线"],
  "tab.summary": ["Summary", "概览"],
  "tab.operator": ["Operator", "算子"],
  "tab.memory": ["Memory", "内存"],
  "tab.communication": ["Communication", "通信"],
  "frame.close": ["Close", "关闭"],
  "frame.loading": ["Loading …", "加载中…"],
  "frame.retry": ["Try again", "重试"],
  "frame.lost": ["No connection to the server.", "与服务器的连接已断开。"],
  "table.rows": ["{0} rows", "{0} 行"],
  "table.rows-left": ["{0} rows pass the filter", "{0} 行符合筛选"],
  "table.none": ["No rows.", "没有数据。"],
  "table.none-left": ["No row passes the filter.", "没有符合筛选条件的行。"],
  "table.reset": ["Order and filter as at first", "恢复排序与筛选"],
  "table.filter": ["Filter columns", "按列筛选"],
  "table.filter-of": ["Filter of {0}", "筛选 {0}"],
  "table.filter-text": ["Shows rows that contain this", "只显示包含该文本的行"],
  "table.filter-number": ["For example 12, >5, <=3, 10..20; {0} unless a unit follows", "例如 12、>5、<=3、10..20；默认单位 {0}，也可写出单位"],
  "table.columns": ["Columns", "列"],
  "table.copy": ["Copy the table", "复制表格"],
  "table.copied": ["Copied {0} rows.", "已复制 {0} 行。"],
  "table.copied-some": ["Copied the first {0} of {1} rows; save the table to have all.", "已复制前 {0} 行（共 {1} 行）；保存表格可得到全部。"],
  "table.save": ["Save the table", "保存表格"],
  "table.sort": ["click to sort", "点击排序"],
  "table.jump": ["Show in the timeline", "在时间线中显示"],
  "table.open": ["Open", "展开"],
  "table.close": ["Close", "收起"],
  // --- timeline ------------------------------------------------------------------------------------------------------
  // --- timeline panels -----------------------------------------------------------------------------------------------
  "bottom.label": ["Details", "详情面板"],
  "bottom.toggle": ["Lower panel on or off", "显示或隐藏下方面板"],
  "bottom.resize": ["Height of the lower panel", "下方面板高度"],
  "bottom.detail": ["Slice Detail", "选中详情"],
  "bottom.list": ["Slice List", "选中列表"],
  "bottom.system": ["System View", "系统视图"],
  "bottom.find": ["Find", "查找"],
  "bottom.events": ["Events", "事件视图"],
  "bottom.markers": ["Markers", "标记"],
  "detail.none": ["No slice is selected", "未选中任何切片"],
  "detail.none-hint": ["Click a slice in the timeline.", "在时间线中单击一个切片。"],
  "detail.name": ["Name", "名称"],
  "detail.kind": ["Kind", "类型"],
  "detail.where": ["Lane", "泳道"],
  "detail.start": ["Start", "开始"],
  "detail.wall": ["Wall duration", "持续时间"],
  "detail.self": ["Self time", "自身时间"],
  "detail.step": ["Step", "迭代"],
  "detail.raw-start": ["Raw start (ns)", "原始开始时间 (ns)"],
  "detail.raw-end": ["Raw end (ns)", "原始结束时间 (ns)"],
  "detail.source": ["Source", "来源"],
  "detail.args": ["Arguments", "参数"],
  "detail.no-args": ["None were recorded.", "没有记录参数。"],
  "detail.stack": ["Call stack", "调用栈"],
  "detail.comes-from": ["Comes from", "来自"],
  "detail.leads-to": ["Leads to", "去往"],
  "detail.inside": ["Inside of", "所在"],
  "detail.contains": ["Contains {0}", "包含 {0} 个"],
  "detail.no-links": ["No links lead here or away.", "没有关联的连线。"],
  "detail.jump": ["Go there (starts at {0})", "跳转（开始于 {0}）"],
  "detail.more": ["and {0} more", "以及另外 {0} 个"],
  "list.none": ["Nothing is framed", "没有框选"],
  "list.none-hint": ["Drag over lanes in the timeline, or press M on a selected slice.", "在时间线上拖动框选泳道，或选中切片后按 M。"],
  "list.no-lanes": ["No lanes of slices lie in the box", "框选范围内没有切片泳道"],
  "list.rank": ["Rank", "Rank"],
  "list.span": ["{0} framed", "框选 {0}"],
  "list.locked": ["locked", "已锁定"],
  "list.totals": ["{0} slices, {1} in sum, {2} covered", "{0} 个切片，合计 {1}，覆盖 {2}"],
  "list.analyse": ["Analyse this span", "分析该时间段"],
  "find.none": ["Nothing is searched for", "没有查找内容"],
  "find.none-hint": ["Type into the field above the timeline, or press /.", "在时间线上方的输入框中输入，或按 /。"],
  "find.nothing": ["Nothing matches “{0}”", "没有与“{0}”匹配的内容"],
  "find.where": ["Where it was found", "匹配位置"],
  "find.names": ["Names", "名称"],
  "find.lanes": ["Lanes", "泳道"],
  "find.all": ["All", "全部"],
  "find.found": ["{0} found", "找到 {0} 个"],
  "system.rank": ["Rank", "Rank"],
  "system.no-rank": ["No rank is read yet", "尚无已读取的 rank"],
  "system.whole": ["Of the whole recording.", "整个采集范围。"],
  "system.span": ["Of a span of {0}.", "时间段 {0}。"],
  "system.remove-span": ["whole recording", "整个范围"],
  "events.none": ["No lane is chosen", "未选择泳道"],
  "events.none-hint": ["Choose “Show in Events View” in the menu of a lane or slice.", "在泳道或切片的菜单中选择“在事件视图中显示”。"],
  "markers.colour": ["Colour", "颜色"],
  "markers.name": ["Name", "名称"],
  "markers.unnamed": ["marker {0}", "标记 {0}"],
  "markers.at": ["At", "位置"],
  "markers.length": ["Length", "长度"],
  "markers.jump": ["Show in the timeline", "在时间线中显示"],
  "markers.delete": ["Delete", "删除"],
  "markers.clear": ["Delete all", "全部删除"],
  "markers.from-box": ["Mark the box", "标记框选区域"],
  "markers.none": ["No markers", "没有标记"],
  "markers.none-hint": ["Click in the strip below the time axis, or press K.", "在时间轴下方单击，或按 K。"],
  "search.focus": ["Search", "搜索"],
  "search.hint": ["Search names (/)", "搜索名称 (/)"],
  "search.next": ["Next match", "下一个匹配"],
  "search.previous": ["Previous match", "上一个匹配"],
  "search.list": ["List all matches", "列出所有匹配"],
  "search.total": ["{0} found", "{0} 个"],
  "search.matchCase": ["Match case", "区分大小写"],
  "search.word": ["Whole words", "全字匹配"],
  "search.regex": ["Regular expression", "正则表达式"],
  "search.args": ["Arguments too", "同时搜索参数"],
  "choices.narrow": ["Narrow the list", "筛选列表"],
  "choices.all": ["All", "全部"],
  "choices.none": ["None", "无"],
  "choices.these": ["Only these", "仅这些"],
  "tools.label": ["Timeline tools", "时间线工具"],
  "tools.flows": ["Flows", "连线"],
  "tools.no-flows": ["This recording has no flows.", "该采集没有连线。"],
  "tools.ranks": ["Ranks", "Rank 筛选"],
  "tools.lanes": ["Lanes", "泳道筛选"],
  "tools.lock": ["Lock box", "锁定框选"],
  "tools.lock-hint": ["Search and flows keep to the box", "搜索和连线仅限于框选范围"],
  "tools.zoom-in": ["Zoom in", "放大"],
  "tools.zoom-out": ["Zoom out", "缩小"],
  "tools.undo": ["Undo zoom", "撤销缩放"],
  "tools.fit": ["Fit", "全部"],
  // --- pipeline ------------------------------------------------------------------------------------------------------
  // --- other pages ---------------------------------------------------------------------------------------------------
  // --- end -----------------------------------------------------------------------------------------------------------
} satisfies Record<string, [english: string, chinese: string]>;

export type Word = keyof typeof WORDS;
export type Language = "en" | "zh";

export const language = new Atom<Language>("en");

export function t(word: Word, ...values: (string | number)[]): string {
  const text: string = WORDS[word][language.get() === "en" ? 0 : 1];
  return text.replace(/\{(\d)\}/g, (_, i: string) => String(values[Number(i)] ?? ""));
}

/** Names of columns, as the program writes them, in Chinese. What is not here stands as it is. */
const COLUMNS: Record<string, string> = {
  name: "名称", operator: "算子", kernel: "核函数", type: "类型", "op type": "算子类型", kind: "种类", rank: "Rank", host: "主机",
  step: "Step", start: "开始", end: "结束", duration: "时长", "wall duration": "总时长", wall: "总时长", union: "并集时长", self: "自身时长",
  "self time": "自身时长", total: "总计", "total time": "总时间", ratio: "占比", share: "占比", number: "数量", count: "次数", calls: "调用次数",
  occurrences: "次数", average: "平均", avg: "平均", mean: "平均", median: "中位数", max: "最大", min: "最小", wait: "等待", "wait time": "等待时间",
  core: "核类型", "accelerator core": "核类型", shape: "形状", shapes: "形状", "input shapes": "输入形状", "output shapes": "输出形状",
  stream: "Stream", device: "设备", size: "大小", "transit size": "传输量", "transit time": "传输时间", transit: "传输", synchronization: "同步",
  idle: "空闲", elapsed: "耗时", "elapsed time": "耗时", bandwidth: "带宽", transport: "传输类型", "transport type": "传输类型", group: "通信域",
  computing: "计算", communication: "通信", "not overlapped": "未掩盖", overlapped: "已掩盖", free: "空闲", bubble: "气泡", stage: "阶段",
  preparing: "准备", lane: "泳道", category: "类别", allocated: "已分配", reserved: "已预留", active: "活跃", released: "释放", component: "组件",
  peak: "峰值", time: "时间", source: "源", destination: "目的", state: "状态", file: "文件", format: "格式", slices: "切片数", progress: "进度",
};

export function columnWord(name: string): string {
  const plain = name.replace(/_/g, " ");
  return language.get() === "zh" ? (COLUMNS[plain.toLowerCase()] ?? plain) : plain;
}
