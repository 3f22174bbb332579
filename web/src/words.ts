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
  "frame.pages": ["Pages", "页面"],
  "frame.ranks": ["{0} of {1} ranks", "{0}/{1} 个 rank"],
  "frame.failed": ["{0} failed", "{0} 个失败"],
  "frame.reading": ["reading {0}, {1} %", "正在读取 {0} 个，{1} %"],
  "frame.waiting": ["{0} ranks not read yet", "{0} 个 rank 尚未读取"],
  "frame.load": ["Read it", "读取"],
  "frame.load-all": ["Read all", "全部读取"],
  "frame.slices": ["{0} slices", "{0} 个切片"],
  "frame.memory": ["{0} MB in memory", "内存占用 {0} MB"],
  "frame.memory-title": ["What the server holds of the ranks that are read", "服务器为已读取的 rank 占用的内存"],
  "frame.missing": ["missing: {0}", "缺少：{0}"],
  "frame.odd": ["{0} notes on the capture", "{0} 条采集说明"],
  "frame.notes-n": ["{0} notes", "{0} 条说明"],
  "frame.ranks-title": ["Ranks", "Rank 列表"],
  "frame.choose-rank": ["Choose a rank to see what was used of it and what is missing.", "选择一个 rank，查看使用了哪些数据、缺少什么。"],
  "frame.in-memory": ["In memory: {0}", "内存：{0}"],
  "frame.all-ranks": ["all ranks", "全部 rank"],
  "frame.ranks-list": ["ranks {0}", "rank {0}"],
  "frame.export": ["Save a picture or a table", "保存图片或表格"],
  "frame.nothing-to-save": ["Nothing to save on this page.", "本页没有可保存的内容。"],
  "frame.address-copied": ["The address of this view is copied. Whoever opens it needs the token of the server.", "已复制当前视图的地址。打开它需要服务器的 token。"],
  "frame.page-failed": ["This page stopped working.", "此页面出错。"],
  "gate.no-token": ["This page needs the token of the server.", "此页面需要服务器的 token。"],
  "gate.denied": ["The server does not take this token: it was started anew.", "服务器不接受该 token：服务器已重新启动。"],
  "gate.how": ["Open the address that the program prints when it starts; the part after #token= lets you in.", "请打开程序启动时打印的地址，其中 #token= 之后的部分用于授权。"],
  "gate.remote": ["From another machine, forward the port first:", "从其他机器访问时，请先转发端口："],
  "gate.lost": ["No connection to the server.", "与服务器的连接已断开。"],
  "gate.again": ["Trying again every two seconds; is the program still running, and the port still forwarded?", "每两秒重试一次；请检查程序是否仍在运行、端口转发是否有效。"],
  "state.waiting": ["not read", "未读取"],
  "state.queued": ["queued", "排队中"],
  "state.reading": ["reading", "读取中"],
  "state.ready": ["ready", "就绪"],
  "state.failed": ["failed", "失败"],
  "look.system": ["As the system", "跟随系统"],
  "look.light": ["Light", "浅色"],
  "look.dark": ["Dark", "深色"],
  "lane.computing": ["Computing", "计算"],
  "lane.communication": ["Communication", "通信"],
  "lane.exposed": ["Communication (not overlapped)", "未掩盖通信"],
  "lane.free": ["Free", "空闲"],
  "command.help": ["Keys and mouse", "快捷键与鼠标操作"],
  "command.palette": ["Commands, lanes, times", "命令、泳道、时间"],
  "command.tab-timeline": ["Page: Timeline", "页面：时间线"],
  "command.tab-pipeline": ["Page: Pipeline", "页面：流水线"],
  "command.tab-summary": ["Page: Summary", "页面：概览"],
  "command.tab-operator": ["Page: Operator", "页面：算子"],
  "command.tab-memory": ["Page: Memory", "页面：内存"],
  "command.tab-communication": ["Page: Communication", "页面：通信"],
  "command.look": ["Light or dark", "浅色 / 深色"],
  "command.language": ["English / 中文", "中文 / English"],
  "command.settings": ["Settings and colours", "设置与颜色"],
  "command.capture": ["What is open", "已打开的数据"],
  "command.notes": ["Notes on the capture", "采集说明"],
  "command.load-all": ["Read all ranks", "读取全部 rank"],
  "command.copy-address": ["Copy the address of this view", "复制当前视图的地址"],
  "help.everywhere": ["Everywhere", "通用"],
  "palette.hint": ["A command, a rank, a lane, or a time: 12.5ms, 1s..1.2s", "命令、rank、泳道或时间：12.5ms、1s..1.2s"],
  "palette.command": ["command", "命令"],
  "palette.rank": ["rank", "rank"],
  "palette.lane": ["lane", "泳道"],
  "palette.time": ["time", "时间"],
  "palette.go-to": ["Go to {0}", "跳转到 {0}"],
  "palette.show-span": ["Show {0} to {1}", "显示 {0} 至 {1}"],
  "palette.none": ["Nothing is called that.", "没有匹配项。"],
  "palette.more": ["{0} more; type on to narrow them down", "还有 {0} 项；继续输入以缩小范围"],
  "notes.none": ["Nothing is missing, odd or wrong.", "没有缺失、异常或错误。"],
  "notes.failures": ["What went wrong", "出错信息"],
  "notes.unread": ["Ranks that could not be read", "无法读取的 rank"],
  "notes.missing": ["Missing in the capture, and how to collect it", "采集中缺少的内容及采集方法"],
  "notes.odd": ["Odd in the capture", "采集中的异常"],
  "settings.look": ["Look", "外观"],
  "settings.language": ["Language", "语言"],
  "settings.vision": ["Colours are fixed by meaning. The ones that come with the program differ clearly for people with any kind of colour blindness; what you change is checked against the same test. Changes are kept in this browser, for light and dark apart.", "颜色按含义固定。程序自带的颜色对各类色觉障碍者都易于区分；修改后的颜色会按同一标准检查。修改保存在本浏览器中，浅色与深色分别保存。"],
  "settings.lanes": ["What a step's time goes into", "Step 时间构成"],
  "settings.kinds": ["Blocks of a pipeline", "流水线块"],
  "settings.phases": ["Phases of DualPipeV", "DualPipeV 阶段"],
  "settings.tints": ["Names of kernels and calls", "核函数与调用名称"],
  "settings.accent": ["Selection and links", "选中与链接"],
  "settings.accent-what": ["Accent", "强调色"],
  "settings.reset": ["As it was", "恢复默认"],
  "settings.reset-all": ["All colours as they were", "恢复全部颜色"],
  "settings.apart": ["These colours can be told apart with any kind of colour vision.", "这些颜色对各类色觉都可区分。"],
  "settings.alike-normal": ["“{0}” and “{1}” are hard to tell apart.", "“{0}”与“{1}”难以区分。"],
  "settings.alike-protan": ["“{0}” and “{1}” look alike without red cones (protanopia).", "红色盲者难以区分“{0}”与“{1}”。"],
  "settings.alike-deutan": ["“{0}” and “{1}” look alike without green cones (deuteranopia).", "绿色盲者难以区分“{0}”与“{1}”。"],
  "settings.alike-tritan": ["“{0}” and “{1}” look alike without blue cones (tritanopia).", "蓝色盲者难以区分“{0}”与“{1}”。"],
  "gesture.wheel": ["wheel", "滚轮"],
  "gesture.ctrl-wheel": ["Ctrl + wheel", "Ctrl + 滚轮"],
  "gesture.shift-wheel": ["Shift + wheel", "Shift + 滚轮"],
  "gesture.ctrl-drag": ["Ctrl + drag", "Ctrl + 拖动"],
  "gesture.alt-drag": ["Alt + drag", "Alt + 拖动"],
  "gesture.drag": ["drag", "拖动"],
  "gesture.click": ["click", "单击"],
  "gesture.double-click": ["double click", "双击"],
  "gesture.right-click": ["right click", "右键单击"],
  "gesture.hover": ["hover", "悬停"],
  "gesture.click-axis": ["click below the axis", "单击坐标轴下方"],
  "gesture.double-click-marker": ["double click on a marker", "双击标记"],
  "gesture.click-header": ["click on a header", "单击表头"],
  "gesture.drag-edge": ["drag the edge of a header", "拖动表头边缘"],
  "gesture.double-click-row": ["double click on a row", "双击行"],
  "gesture.click-cell": ["click on a cell", "单击单元格"],
  "gesture.zoom-at": ["zoom where the pointer is", "以指针处为中心缩放"],
  "gesture.pan": ["move in time", "沿时间移动"],
  "gesture.scroll-lanes": ["scroll lanes", "滚动泳道"],
  "gesture.zoom-box": ["zoom to a span", "缩放到所选区间"],
  "gesture.select-box": ["select a span over lanes", "跨泳道框选"],
  "gesture.select-slice": ["select a slice, show its links", "选中切片并显示连线"],
  "gesture.slice-menu": ["menu of a slice or lane", "切片或泳道菜单"],
  "gesture.marker": ["set a marker", "添加标记"],
  "gesture.edit-marker": ["name, colour, delete", "命名、改色、删除"],
  "gesture.trace-microbatch": ["follow a microbatch", "追踪一个 microbatch"],
  "gesture.open-in-timeline": ["show in the timeline", "在时间线中显示"],
  "gesture.zoom-span": ["zoom to a span", "缩放到所选区间"],
  "gesture.zoom-reset": ["show everything", "显示全部"],
  "gesture.pair": ["operators of a pair of ranks", "查看一对 rank 的算子"],
  "gesture.sort": ["sort", "排序"],
  "gesture.column-width": ["width of a column (double click: as its content)", "列宽（双击：按内容）"],
  "gesture.row-to-timeline": ["to the slice in the timeline", "跳转到时间线中的切片"],
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
  // --- pipeline ------------------------------------------------------------------------------------------------------
  // --- other pages ---------------------------------------------------------------------------------------------------
  // --- end -----------------------------------------------------------------------------------------------------------
} satisfies Record<string, [english: string, chinese: string]>;

export type Word = keyof typeof WORDS;
export type Language = "en" | "zh";

export const language = new Atom<Language>("en");

/** Starts with what was chosen, or what the browser speaks; keeps the choice. Once, when the page starts. */
export function followLanguage(): void {
  let kept: string | null = null;
  try {
    kept = localStorage.getItem("pipescope-language");
  } catch {
    // no storage: the browser's language
  }
  const spoken = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
  const apply = (): void => {
    document.documentElement.lang = language.get() === "zh" ? "zh-CN" : "en";
  };
  language.listen(() => {
    apply();
    try {
      localStorage.setItem("pipescope-language", language.get());
    } catch {
      // for this visit then
    }
  });
  language.set(kept === "zh" || kept === "en" ? kept : spoken);
  apply();
}

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
