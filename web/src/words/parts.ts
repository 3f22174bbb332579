/** Parts of a device's time, as System View has them: words for the keys that the server gives (src/analyze/views/view_overall.c,
 * view_overlap.c). A key is what stands in `path`, from the outside in; below communication come names of communicators, which are
 * what they are. */
import { language } from "../words";

const EXPOSED = "Communication(Not Overlapped)";

// prettier-ignore
const WHOLE: Readonly<Record<string, string>> = {
  Computing: "计算", Communication: "通信", [EXPOSED]: "未掩盖通信", Free: "空闲", "Before the first work": "首项工作之前",
  "After the last work": "末项工作之后", E2E: "E2E", "Outside of all steps": "所有 step 之外",
};
// prettier-ignore
const OF_COMPUTING: Readonly<Record<string, string>> = {
  "Paged Attention": "Paged Attention", SDMA: "SDMA", "Tensor Move": "张量搬运", "Flash Attention": "Flash Attention", Matmul: "矩阵乘",
  Conv: "卷积", Forward: "前向", Backward: "反向", Cube: "Cube", Vector: "Vector", "AI CPU": "AI CPU", Other: "其他",
  "Other Cube": "其他 Cube", "Other Vector": "其他 Vector", Trans: "格式转换", "No Trans": "非格式转换",
};
/** What the parts below do not add up to. */
const ROUNDING: Readonly<Record<string, string>> = { "Rounding of the profiler": "采集工具的舍入" };
/** Of operators whose communicator nothing names. */
const UNNAMED: Readonly<Record<string, string>> = { "unnamed group": "未命名通信域" };
// prettier-ignore
const OF_COMMUNICATOR: Readonly<Record<string, string>> = {
  Transmit: "传输", "Only waiting": "仅等待", "No task": "无任务",
};

/** The names of a part and of all that it lies in, from the outside in. A name of a communicator may hold slashes. */
function namesOf(path: string): string[] {
  const [top, ...rest] = path.split("/");
  const whole = WHOLE[top] ?? top;
  if (top !== EXPOSED) {
    return [whole, ...rest.map((name) => OF_COMPUTING[name] ?? ROUNDING[name] ?? name)];
  }
  const last = rest.length > 1 ? OF_COMMUNICATOR[rest[rest.length - 1]] : undefined;
  const group = (last === undefined ? rest : rest.slice(0, -1)).join("/");
  return [whole, ROUNDING[group] ?? UNNAMED[group] ?? group, last ?? ""].filter(
    (name) => name !== "",
  );
}

/** What a part is called. `name`: its own, as the server has it. */
export const partName = (path: string, name: string): string =>
  language.get() === "en" ? name : (namesOf(path).pop() ?? name);

/** A part with all that it lies in. */
export const partPath = (path: string): string =>
  language.get() === "en" ? path : namesOf(path).join("/");
