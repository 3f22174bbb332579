/** What columns and rows of tables mean whose names do not say it: for the pointer on them, English and Chinese. */
import { language } from "../words";

type Said = readonly [english: string, chinese: string];

const JOB_SOURCE: Said = [
  "The rank that sends, by its number in the job; equal to the destination where a rank copies within itself",
  "发送方 rank 在作业中的编号；与目的 rank 相同时为 rank 内部拷贝",
];
const JOB_DESTINATION: Said = [
  "The rank that receives, by its number in the job",
  "接收方 rank 在作业中的编号",
];

/** By "table.column", or by the column alone where it means the same in all tables that have it; as columns are called in words. */
// prettier-ignore
const COLUMN_HINTS: Readonly<Record<string, Said>> = {
  // --- the chart (docs/bubble.md) ---
  "PipelineBubble.busy": ["Time in ops of the stage, side by side ones once", "该阶段处于算子中的时间，并行部分只计一次"],
  "PipelineBubble.overlapped": ["Of the busy time, not of the step: what of it has a forward beside a backward", "占繁忙时间（而非 step）的比例：前向与反向并行的部分"],
  "PipelineBubble.bubble": ["Warm-up, stall and cool-down: time of the step without an op and without other work", "预热、停顿与收尾之和：step 中既无算子也无其他工作的时间"],
  "PipelineBubble.idle": ["Bubble as a share of the step", "空泡占 step 的比例"],
  "PipelineBubble.warm-up": ["Bubble before the stage's first pass", "该阶段首个 pass 之前的空泡"],
  "PipelineBubble.stall": ["Bubble between the first and the last pass of the stage", "该阶段首个与末个 pass 之间的空泡"],
  "PipelineBubble.cool-down": ["Bubble behind the stage's last pass", "该阶段末个 pass 之后的空泡"],
  "PipelineBubble.own": ["Stall as a share of the stage's own window, from its first pass to its last one", "停顿占该阶段自身区间（首个 pass 至末个 pass）的比例"],
  "PipelineBubble.without marks": ["Bubble that may be ops whose mark is missing", "可能是缺少标记的算子的空泡"],
  "PipelineBubble.other work": ["What the device did in no op: neither op nor bubble", "不属于任何算子的设备工作：既非算子也非空泡"],
  "PipelineBubble.unexplained": ["Other work as a share of all work of the device in the step", "其他工作占该 step 中全部设备工作的比例"],
  "PipelineOps.microbatch": ["As the framework counts; of an overlapped pair that of its forward", "按框架的编号；重叠对中为前向的编号"],
  "PipelineOps.microbatch 2": ["Of an overlapped pair that of its backward", "重叠对中为后向的编号"],
  "PipelineOps.chunk 2": ["Of an overlapped pair that of its backward", "重叠对中为后向所属的 chunk"],
  "PipelineOps.start": ["From the step's first op on", "自该 step 的首个算子起"],
  "PipelineOps.end": ["From the step's first op on", "自该 step 的首个算子起"],
  "PipelineWaits.for stages": ["Stalls in which another stage had not finished yet", "停顿中其他阶段尚未完成的部分"],
  "PipelineWaits.most for": ["The stage that was waited for longest", "等待最久的阶段"],
  "PipelineWaits.of it": ["Stalls for that stage alone", "仅等待该阶段的停顿"],
  "PipelineWaits.for transfer": ["Stalls in which the result was there, and the op had not started: transfer, launch or host", "停顿中结果已就绪而算子未开始的部分：传输、下发或主机"],
  "PipelineWaits.other": ["Stalls before ops that need nothing of another stage", "停顿中位于不依赖其他阶段的算子之前的部分"],
  "PipelineWaits.not known": ["Stalls before ops whose input is not in the capture", "停顿中位于输入不在采集数据内的算子之前的部分"],
  "PipelineWaits.on path": ["Computing of the stage on the critical path; a stage without any gains nothing from being faster", "该阶段在关键路径上的计算时间；不在关键路径上的阶段提速没有收益"],
  "PipelineWaits.path": ["The same as a share of the step", "同上，占 step 的比例"],
  "PipelineStep.time": ["From the first to the last op of the pipeline", "流水线首个算子至末个算子"],
  "PipelineStep.bubble": ["Mean of the stages, as a share of that time", "各阶段空泡均值占该时间的比例"],
  "PipelineStep.ideal": ["The bubble of the schedule with all stages equally fast and nothing lost between them", "各阶段同样快且无传输损失时该调度的空泡"],
  "PipelineStep.slowest": ["The stage with the most busy time", "忙时间最长的阶段"],
  "PipelineStep.its busy": ["Busy time of the slowest stage", "最慢阶段的忙时间"],
  "PipelineStep.imbalance": ["How much more busy the slowest stage is than the mean", "最慢阶段的忙时间超出均值的比例"],
  "PipelineStep.computing": ["On the critical path; with waiting it is the step", "关键路径上的计算；与等待相加即为 step"],
  "PipelineStep.waiting": ["On the critical path, with other work in it", "关键路径上的等待，含其他工作"],
  "PipelineStep.fewer ops": ["Ops that usual steps have and this one has not", "通常 step 有而该 step 没有的算子数"],
  "PipelineReplay.step time": ["Simulated with medians of the measured durations", "按实测时长的中位数仿真"],
  "PipelineReplay.gain": ["Against the schedule that ran, simulated likewise; below zero it is slower", "相对同样方式仿真的当前调度；负值表示更慢"],
  "PipelineReplay.gain share": ["The same as a share of that step", "同上，占该 step 的比例"],
  "PipelineReplay.bubble": ["Mean of the stages, as a share of the simulated step", "各阶段均值，占仿真 step 的比例"],
  "PipelineReplay.activations": ["The most that a stage holds, in microbatches of the whole stage", "单个阶段保有的最大激活量，以整个阶段的 microbatch 计"],
  "PipelineReplay.weights": ["Copies of a stage's weights on a device", "每个设备上一个阶段权重的份数"],

  "calls.share": ["Of the time of all that is shown, with all below", "含下层的时间占所示全部时间的比例"],
  "CallTree.share": ["Of the time of all that is shown, with all below", "含下层的时间占所示全部时间的比例"],
  "CallTreeCallees.share": ["Of the time of all that is shown, with all below", "含下层的时间占所示全部时间的比例"],
  "CallTreeModules.share": ["Of the time of all that is shown, with all below", "含下层的时间占所示全部时间的比例"],

  // --- what a step is made of (docs/overlap.md) ---
  "overall.number": ["Kernels and operators; of time without work its gaps", "核函数与算子数；无工作时间为空隙数"],
  "overall.total": ["Each moment once", "每个时刻只计一次"],
  "overall.sum": ["Plain sum of the slices, side by side ones each", "切片时长之和，并行部分分别计入"],
  "overall.ratio": ["Of E2E, what the steps take of the device", "占 E2E（各 step 占用设备的时间）的比例"],
  "overlap_sum.stretches": ["Stretches without a break: slices of the lane. Communication that computing cuts into pieces has several", "连续区间数，即泳道中的切片数；被计算切开的通信计为多段"],
  "overlap_sum.share": ["Of all that the lanes cover: what the steps take of the device", "占各泳道覆盖时间（各 step 占用设备的时间）的比例"],

  // --- communication (docs/modes/communication_time_sum.md) ---
  "communication_time.elapsed": ["From the start to the end of the operators", "算子从开始到结束的时间"],
  "communication_time.transit": ["As the profiler counts it, of one plane of each operator; where it has no statistics, while some plane transmits", "由采集工具统计，取每个算子的一个 plane；没有统计时取至少一个 plane 在传输的时间"],
  "communication_time.synchronization": ["The first wait of each operator: somebody came late", "每个算子的首次等待：有 rank 迟到"],
  "communication_time.wait": ["As the profiler counts it: waits of one plane of each operator, hidden or not; where it has no statistics, while no plane transmits and some wait, and without tasks the time until the last of a collective or the send began. Overall metrics say Only waiting of what nothing hides", "由采集工具统计：每个算子一个 plane 的等待，无论是否被掩盖；没有统计时取没有 plane 在传输、至少一个在等待的时间，没有任务时取集合通信最后一方或 send 开始之前的时间。总体指标中的 Only waiting 只计未掩盖部分"],
  "communication_time.rest": ["What is neither transit nor wait in that plane; others may work or wait then. It is not free time of the device", "该 plane 中既非传输也非等待的时间，其他 plane 可能在工作或等待；不是设备空闲时间"],
  "communication_time.synchronization ratio": ["Synchronization / (synchronization + transit)", "同步 /（同步 + 传输）"],
  "communication_time.wait ratio": ["Wait / (wait + transit)", "等待 /（等待 + 传输）"],

  // --- communication ---
  "src rank": JOB_SOURCE,
  "dst rank": JOB_DESTINATION,

  // --- findings ---
  value: ["The figure that the rule looks at", "规则所看的数值"],
  threshold: ["The rule fires above it (for some, below it)", "超过（部分规则为低于）该值即触发"],
  shared: ["The finding whose time this one may count, too", "可能与之重复计算时间的发现"],
};

const OWN_PLACE: Said = [
  "The place of this rank within the communicator, from 0, whether it sends or receives; not its number in the job",
  "本 rank 在通信域内的编号（从 0 起），无论发送或接收；不是其在作业中的编号",
];
const PEER_PLACE: Said = [
  "The place of the other rank within the communicator, from 0; not its number in the job, which Slice Detail has in other ranks",
  "对端 rank 在通信域内的编号（从 0 起），不是其在作业中的编号；后者见切片详情的“其他 rank”",
];
/** Arguments of slices, by their whole name, as profilers write it: Ascend's are places, others' numbers of the job. */
const ARGUMENT_HINTS: Readonly<Record<string, Said>> = {
  srcRank: OWN_PLACE,
  "src rank": OWN_PLACE,
  dstRank: PEER_PLACE,
  "dst rank": PEER_PLACE,
  "Src Rank": JOB_SOURCE,
  "Dst Rank": JOB_DESTINATION,
};

/** What rows of the tables of OF_ROWS mean, by their name. */
// prettier-ignore
const ROW_HINTS: Readonly<Record<string, Said>> = {
  "Free": ["Between the first and the last work of a step: no kernel and no communication", "step 首项与末项工作之间：既无核函数也无通信"],
  "Before the first work": ["From the start of a step's window to its first work on the device", "从 step 窗口开始到设备上首项工作"],
  "After the last work": ["From the last work of a step on the device to the end of its window", "从设备上末项工作到 step 窗口结束"],
  "E2E": ["What the steps take of the device: the sum of the rows above", "各 step 占用设备的时间：上方各行之和"],
  "Transmit": ["Of communication that nothing hides: some plane runs a task that is no wait", "未掩盖通信中至少一个 plane 在执行非等待任务"],
  "Only waiting": ["Of communication that nothing hides: no plane transmits, some wait. The Communication page has the profiler's Wait, which is of one plane; where the profiler has no statistics it counts as here. There it is hidden or not", "未掩盖通信中没有 plane 在传输、至少一个在等待。通信页的“等待”由采集工具统计，取一个 plane；采集工具没有统计时与此处相同。通信页无论是否被掩盖均计入"],
  "Trans": ["Of other kernels those that change type or layout and compute nothing", "其他核函数中只改变类型或排布、不做计算的部分"],
  "No Trans": ["Of other kernels those that compute: no attention, convolution or matrix product, and no mere change of type or layout", "其他核函数中做计算的部分：既非注意力、卷积与矩阵乘，也不只是改变类型或排布"],
  "No task": ["Of communication that nothing hides: no plane runs a task", "未掩盖通信中没有任何 plane 在执行任务"],
};
const OF_ROWS = ["overall", "overlap_sum"];

const inLanguage = (said: Said | undefined): string =>
  said === undefined ? "" : said[language.get() === "en" ? 0 : 1];

/** As columns are called here: "step_time" and "lateTime(us)" are "step time" and "late time". */
const plainName = (name: string): string =>
  name
    .replace(/ (base|difference|change)$/, "")
    .replace(/\(.*\)$/, "")
    .replace(/_/g, " ")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();

/** The table whose columns are arguments of slices, besides what every slice has. */
const OF_ARGUMENTS = "slices";

/** "" where the name of the argument says it. */
export const argumentHint = (name: string): string => inLanguage(ARGUMENT_HINTS[name]);

/** "" where the name of the column says it. */
export function columnHint(table: string, column: string): string {
  if (table === OF_ARGUMENTS) {
    return argumentHint(column);
  }
  const name = plainName(column);
  return inLanguage(COLUMN_HINTS[`${table}.${name}`] ?? COLUMN_HINTS[name]);
}

/** "" where the cell says it. */
export const cellHint = (table: string, column: string, cell: string): string =>
  column === "name" && OF_ROWS.includes(table) ? inLanguage(ROW_HINTS[cell]) : "";

export const HINTS_FOR_TESTS: readonly Readonly<Record<string, Said>>[] = [
  COLUMN_HINTS,
  ARGUMENT_HINTS,
  ROW_HINTS,
];
