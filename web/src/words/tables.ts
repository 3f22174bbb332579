/** What the tables hold that modes of `cluster` make (src/query/mode_tables.def), in Chinese; by name. */
// prettier-ignore
export const MODE_TABLES: Readonly<Record<string, string>> = {
  link: "任意两个 rank 间链路的传输量、时间与带宽", module: "模型的模块：调用、时间、MFU", PipelineBubble: "各阶段与 step 的空泡，按原因",
  PipelineWaits: "各阶段的停顿在等什么", PipelineStep: "各流水线的 step、最慢阶段与关键路径", PipelineReplay: "采用其他调度时的 step",
  PipelineNotReplayed: "未重放的调度及原因", PPChart: "各 rank 的打点及其标签", P2PPairing: "各 rank 的发送与接收算子", Mstx2Commop: "各 rank 由通信打点生成的算子",
  ClusterStepTraceTime: "各 rank 与阶段的 step 中计算、通信与空闲时间", ClusterBaseInfo: "作业规模及其并行组", HostInfo: "作业的主机", RankDeviceMap: "rank 及其设备与主机",
  ClusterTimeSummary: "各 rank 的 step 时间去向", ClusterTimeSummaryExtra: "同上，适用于信息更多的格式", FreeAnalysis: "设备最长的空隙", FreeSummary: "各 rank 与 step 的空闲时间",
  FreeGaps: "按原因与长度统计的空隙", CommunicationGroupMapping: "通信域及其 rank", ClusterCommunicationTime: "通信算子的时间与等待", ClusterCommunicationBandwidth: "通信算子的传输量与带宽",
  ClusterCommunicationMatrix: "任意两个 rank 间链路的传输量、时间与带宽", HcclAllRankStats: "通信算子时长（按类型）", HcclPerRankStats: "通信算子时长（按类型与 rank）",
  HcclTopOpStats: "耗时最长的通信算子", HcclGroupNameMap: "通信域及其 rank", SlowRank: "使其他 rank 等待的 rank，按集合通信", SlowOpStats: "这些集合通信在各 rank 上的时长", SlowRankLateness: "各 rank 迟到时间",
  SlowLinkSum: "各 rank 最快一次相差较大的集合通信", SlowLinkOps: "其中的算子", SlowLinkMatrix: "慢于同类的链路", CommunicationBottleneck: "rank 0 最长的通信，以及谁迟到",
  ComputationalOperatorMaskingLinearity: "各 step 中未被计算掩盖的通信", ComputationalOperatorMaskingByRank: "同上，按 rank", ComputeOpAllRankStats: "计算算子（按类型）",
  ComputeOpPerRankStatsByOpType: "计算算子（按类型与 rank）", ComputeOpPerRankStatsByOpName: "计算算子（按名称与 rank）", ComputeOpSpread: "计算时间的去向及其均衡程度",
  CallTree: "全部 rank 中谁调用了什么、下发了哪些核函数，自顶向下", CallTreeCallees: "运行了什么，其下为调用者", CallTreeModules: "模块及其前向与反向、算子与核函数",
  CannApiSum: "驱动与运行时的调用", CannApiSumRank: "同上，按 rank", MSTXAllFrameworkStats: "打点在框架侧的时长", MSTXAllCannStats: "打点在驱动侧的时长", MSTXAllDeviceStats: "打点在设备侧的时长",
  MSTXMarkStats: "各 rank 的打点时长", FrequencyShare: "各 rank 低于标称频率的时间", FreeFrequencyRanks: "空闲时降频的 rank", AbnormalFrequencyRanks: "工作时降频的 rank",
  EPTokensSummary: "专家并行组中各 rank 的 token 数", TopEPTokensInfo: "差异最大的专家组", Modules: "模型的模块：调用、时间、MFU", ModuleStatistic: "各模块的算子与核函数，列与 msprof-analyze 相同",
  ModuleTree: "各 rank 的模块及其中运行的全部内容", ModuleOp: "各模块的算子", ModuleInstance: "各模块核函数时间最长的调用", ModuleStep: "各 step 中各模块的核函数时间", ModuleCoverage: "模块内外的核函数时间",
  OperatorMfuSummary: "矩阵乘核函数：FLOPs 与芯片峰值占比", KernelFlops: "各类核函数的 FLOPs 来自何处", ModuleMFU: "各模块的 FLOPs 与峰值占比", OperatorMFU: "每个矩阵乘核函数",
  whatif: "作业的 step 现状与可能", whatif_steps: "各 step：实测、无下发延迟、理想", whatif_causes: "使作业变慢的原因", whatif_workers: "各 worker 及其造成的变慢",
};

/** Kinds of slices and of what stands for some (docs/modes/call_tree.md), and of ops that what-if tells apart (src/analyze/whatif/whatif.h), in Chinese. */
// prettier-ignore
export const KINDS_OF: Readonly<Record<string, string>> = {
  all: "全部", unknown: "未知", others: "其他", step: "step", pass: "趟", module: "模块", op: "算子", call: "调用", python: "Python", mark: "打点", "device-mark": "设备打点",
  annotation: "标注", kernel: "核函数", job: "任务", communication: "通信", "communication-kernel": "通信核函数", "communication-task": "通信任务", copy: "拷贝", task: "任务",
  synchronisation: "同步",
  "forward-compute": "前向计算", "backward-compute": "反向计算", "backward-input-compute": "输入梯度计算", "backward-wgrad-compute": "权重梯度计算", "overlapped-compute": "重叠对计算",
  "forward-pp-comm": "前向 PP 通信", "backward-pp-comm": "反向 PP 通信", "params-all-gather": "参数 all-gather", "grads-reduce-scatter": "梯度 reduce-scatter",
  "separate-grads-all-reduce": "单独梯度 all-reduce", "layernorm-grads-all-reduce": "LayerNorm 梯度 all-reduce", "embedding-grads-all-reduce": "Embedding 梯度 all-reduce",
  "optimizer-clip-main-grad": "优化器梯度裁剪", gc: "GC", optimizer: "优化器",
};
