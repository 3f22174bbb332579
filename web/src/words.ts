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
