/* PyTorch's operators, recorded from within: what pipescope/_ops.py does by a dispatch mode in Python, at a fraction of its cost.
 * pipescope/_observer.py builds it where the program runs, against the headers of that PyTorch, and binds it to the recorder.
 *
 * PyTorch calls begin() and end() around operators, nodes of autograd and what else has a name (at::RecordFunction). A thread keeps
 * what is open as frames:
 *
 *     operator      not CompositeImplicitAutograd: what a device gets. Recorded, with its own kernel; what it calls is part of it
 *     view          makes no data. Recorded without a kernel where it makes a node of autograd, so that the node has an operator
 *     composite     calls operators, which are recorded; has no frame
 *     Function      a torch.autograd.Function: recorded without a kernel, for its node
 *     evaluation    what the engine does for a node: hooks, the node, sums of gradients. All of it is backward work of the operator that
 *                   made the node
 *     node          recorded without a kernel, so that what is computed again inside of it is known as such
 *
 * Nodes are numbered by thread (at::sequence_number): those made while an operator runs are its own, and so is one made just before it,
 * as functions of autograd in C++ make theirs. A node that only adds to a gradient (AccumulateGrad) has no number; it belongs to the node that the engine evaluated before it.
 *
 * While nothing is recorded the callback is taken out of PyTorch's list of this thread: what PyTorch does for any observer (it makes values of
 * the arguments, and looks for the callbacks of each operator) costs more than what is done here. The callback does so itself after some
 * calls in vain; it comes back when a recording has begun: told by Python (ps_observer_wake), or seen at what the program names itself
 * (record_function), as optimizers and data loaders of PyTorch do in every step.
 *
 * Callbacks never throw, and the library is never unloaded: PyTorch may call end() after the callback was removed. */
#include <ATen/ATen.h>
#include <ATen/SequenceNumber.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

/* --- the recorder ---------------------------------------------------------------------------------------------------- */

/* What _observer.py knows of libpipescope-record.so (include/pipescope/record.h), which Python has loaded. */
struct ps_observer_library {
    const volatile uint32_t *word; /* not 0 while recording, another number in each recording */
    uint64_t (*op_begin)(const char *name, const char *shapes, void *stream);
    uint64_t (*op_begin_backward)(const char *name, const char *shapes, void *stream,
                                  uint64_t forward);
    uint64_t (*op_begin_host)(const char *name, const char *shapes, uint64_t forward);
    void (*op_end)(uint64_t op);
    /* Python's: the driver's handle of a stream of PyTorch, 0 unknown. Takes the interpreter's lock. */
    uint64_t (*stream_handle)(int64_t device, int64_t stream);
};

namespace {

ps_observer_library library;
std::atomic<bool> is_on{false};
std::atomic<uint32_t> times_put{0}; /* between two of them nodes are made that nobody observes */
std::atomic<bool> device_in_use{false}; /* streams may be asked for */
bool with_shapes;
bool on_current; /* on the current stream, else on `fixed_stream` */
void *fixed_stream;

/* Of the thread that the callback was put on; only that thread changes the last two. */
std::atomic<uint64_t> put_on{0};
at::CallbackHandle callback, watcher;
uint32_t calls_in_vain;
bool is_asleep;

uint32_t recording() {
    return is_on.load(std::memory_order_relaxed) ? *library.word : 0;
}

bool is_here() {
    return put_on.load(std::memory_order_relaxed) == at::RecordFunction::currentThreadId();
}

/* Backward passes have copies of this thread's list: theirs go with the pass. */
void sleep_after_a_while() {
    constexpr uint32_t PATIENCE = 64;
    if (is_on.load(std::memory_order_relaxed) && is_here() && !is_asleep &&
        ++calls_in_vain >= PATIENCE) {
        is_asleep = true;
        at::disableCallback(callback);
    }
}

void wake() {
    if (recording() != 0 && is_here()) {
        calls_in_vain = 0;
        if (is_asleep) {
            is_asleep = false;
            at::reenableCallback(callback);
        }
    }
}

/* --- which operator made a node -------------------------------------------------------------------------------------- */

/* Of one thread: number of a node -> operator, for the last million. Written by the thread, read by those that run its backward
 * passes; an entry that is overwritten meanwhile reads as unknown. */
class made_nodes {
  public:
    void put(uint64_t number, uint64_t op) {
        chunk *c = chunk_of(number);
        if (c != nullptr) {
            entry &e = (*c)[number % CHUNK];
            e.number.store(NONE, std::memory_order_relaxed);
            e.op.store(op, std::memory_order_release);
            e.number.store(number, std::memory_order_release);
        }
    }

    /* 0 unknown. */
    uint64_t find(uint64_t number) const {
        const chunk *c = chunks[number / CHUNK % CHUNKS].load(std::memory_order_acquire);
        if (c == nullptr || number < first.load(std::memory_order_relaxed)) {
            return 0;
        }
        const entry &e = (*c)[number % CHUNK];
        bool is = e.number.load(std::memory_order_acquire) == number;
        uint64_t op = e.op.load(std::memory_order_acquire);
        return is && e.number.load(std::memory_order_relaxed) == number ? op : 0;
    }

    /* Nodes before `number` are of earlier recordings. */
    void forget_before(uint64_t number) {
        first.store(number, std::memory_order_relaxed);
    }

    /* Numbers begin anew: another thread's. */
    void forget_all() {
        for (auto &c : chunks) {
            chunk *there = c.load(std::memory_order_relaxed);
            for (size_t i = 0; there != nullptr && i < CHUNK; i++) {
                (*there)[i].number.store(NONE, std::memory_order_relaxed);
            }
        }
    }

  private:
    static constexpr size_t CHUNK = 4096, CHUNKS = 256;
    static constexpr uint64_t NONE = std::numeric_limits<uint64_t>::max();

    struct entry {
        std::atomic<uint64_t> number{NONE}, op{0};
    };
    using chunk = std::array<entry, CHUNK>;

    chunk *chunk_of(uint64_t number) {
        std::atomic<chunk *> &place = chunks[number / CHUNK % CHUNKS];
        chunk *c = place.load(std::memory_order_relaxed);
        if (c == nullptr) {
            c = new (std::nothrow) chunk;
            place.store(c, std::memory_order_release);
        }
        return c;
    }

    std::array<std::atomic<chunk *>, CHUNKS> chunks{};
    std::atomic<uint64_t> first{0};
};

/* --- what PyTorch is to be asked once -------------------------------------------------------------------------------- */

enum class op_kind : uint8_t { computes, view, composite, ignored };

struct op_facts {
    std::string name, overload;
    op_kind kind;
    size_t n_positional; /* arguments that count as inputs */
};

/* Of these nothing is recorded: their time is waiting for the most part, or none. */
bool is_ignored(const std::string &name) {
    static const char *const SPACES[] = {"profiler::", "c10d::", "c10d_functional::",
                                         "_c10d_functional::", "_c10d_functional_autograd::"};
    return std::any_of(std::begin(SPACES), std::end(SPACES),
                       [&](const char *space) { return name.rfind(space, 0) == 0; });
}

/* As torch._ops.OpOverload.is_view: arguments are aliased, none is written. */
bool is_view(const c10::FunctionSchema &schema) {
    bool aliases = false;
    for (const c10::Argument &argument : schema.arguments()) {
        if (argument.alias_info() != nullptr) {
            aliases = true;
            if (argument.alias_info()->isWrite()) {
                return false;
            }
        }
    }
    return aliases;
}

op_facts facts_of(const c10::OperatorName &name) {
    op_facts facts{name.name, name.overload_name, op_kind::computes,
                   std::numeric_limits<size_t>::max()};
    auto op = c10::Dispatcher::singleton().findSchema(name);
    if (op) {
        const auto &arguments = op->schema().arguments();
        facts.n_positional = static_cast<size_t>(
            std::count_if(arguments.begin(), arguments.end(),
                          [](const c10::Argument &a) { return !a.kwarg_only(); }));
        if (is_ignored(facts.name)) {
            facts.kind = op_kind::ignored;
        } else if (op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) {
            facts.kind = op_kind::composite;
        } else if (is_view(op->schema())) {
            facts.kind = op_kind::view;
        }
    }
    return facts;
}

/* By the address of the name in its schema; the texts are compared, since an operator may be taken out again. */
class known_ops {
  public:
    /* Null for what is no operator. */
    const op_facts *of(const at::RecordFunction &fn) {
        const char *name = fn.name();
        auto found = ops.find(name);
        if (found != ops.end() && found->second.name == name &&
            found->second.overload == fn.overload_name()) {
            return &found->second;
        }
        std::optional<c10::OperatorName> full = fn.operator_name();
        return full ? &(ops.insert_or_assign(name, facts_of(*full)).first->second) : nullptr;
    }

  private:
    std::unordered_map<const char *, op_facts> ops;
};

/* --- shapes ---------------------------------------------------------------------------------------------------------- */

/* "64,128;128,32" of the tensors among the inputs, in order; lists count as what is in them. */
class shape_text {
  public:
    const char *write(const at::RecordFunction &fn, size_t n_positional) {
        at = text.data();
        n_parts = 0;
        needs_grad = false;
        auto inputs = fn.inputs();
        for (size_t i = 0; i < std::min(inputs.size(), n_positional); i++) {
            if (inputs[i].isTensor()) {
                add(inputs[i].toTensor());
            } else if (inputs[i].isList()) {
                add_list(inputs[i]);
            }
        }
        *at = '\0';
        return text.data();
    }

    bool any_needs_grad() const {
        return needs_grad;
    }

  private:
    static constexpr size_t ROOM = 8192,
                            NUMBER = 24; /* the recorder takes half, and counts what is longer */

    bool has_room() const {
        return static_cast<size_t>(text.data() + ROOM - at) > NUMBER;
    }

    void add(const at::Tensor &tensor) {
        if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
            return; /* x + 1: the 1 */
        }
        needs_grad = needs_grad || tensor.requires_grad();
        if (!has_room()) {
            return;
        }
        if (n_parts++ > 0) {
            *at++ = ';';
        }
        const char *begin = at;
        for (int64_t size : tensor.sizes()) {
            if (!has_room()) {
                return;
            }
            if (at != begin) {
                *at++ = ',';
            }
            at = std::to_chars(at, text.data() + ROOM, size).ptr;
        }
    }

    void add_list(const c10::IValue &list) {
        for (const c10::IValue &value : list.toListRef()) {
            if (value.isTensor()) {
                add(value.toTensor());
            } else if (!value.isNone()) {
                return; /* of numbers */
            }
        }
    }

    std::array<char, ROOM> text;
    char *at = nullptr;
    size_t n_parts = 0;
    bool needs_grad = false;
};

/* --- threads --------------------------------------------------------------------------------------------------------- */

/* Work for a node of autograd. */
struct backward_work {
    const torch::autograd::Node *node = nullptr; /* only compared */
    uint64_t forward = 0;                        /* the operator that made it, 0 unknown */
    bool makes_nodes = false;                    /* create_graph: its operators get nodes, too */
};

struct frame {
    const at::RecordFunction *fn = nullptr;
    uint64_t op = 0;         /* of the recorder, 0 not recorded */
    uint64_t first_node = 0; /* number of the first node made inside */
    uint32_t recording = 0;
    bool is_operator = false; /* what is called inside is part of it */
    bool evaluates = false;
    backward_work work;
    uint64_t evaluated = 0; /* operator of the node that was evaluated last inside */
};

struct thread_state {
    std::atomic<uint64_t> id{0}; /* PyTorch's; 0: of no thread any more */
    thread_state *next = nullptr;
    made_nodes nodes;
    uint32_t recording = 0, times_put = 0;
    uint64_t next_node = 0;       /* nodes before it have their operators */
    std::vector<frame> frames{1}; /* the first is the thread itself */
    known_ops ops;
    shape_text shapes;
    const thread_state *asked = nullptr;                   /* whose nodes were looked for last */
    std::map<std::pair<int64_t, int64_t>, void *> streams; /* device and stream -> handle */
};

std::atomic<thread_state *> all_threads{
    nullptr}; /* never freed: another thread may read its nodes */

thread_state *take_over(uint64_t id) {
    for (thread_state *t = all_threads.load(std::memory_order_acquire); t != nullptr; t = t->next) {
        uint64_t none = 0;
        if (t->id.compare_exchange_strong(none, id)) {
            t->nodes.forget_all();
            t->recording = 0;
            t->frames.resize(1);
            t->frames[0] = frame{};
            return t;
        }
    }
    return nullptr;
}

thread_state *new_state() {
    uint64_t id = at::RecordFunction::currentThreadId();
    thread_state *t = take_over(id);
    if (t == nullptr) {
        t = new thread_state;
        t->id.store(id);
        t->next = all_threads.load();
        while (!all_threads.compare_exchange_weak(t->next, t)) {
        }
    }
    return t;
}

struct leaving {
    thread_state *of = nullptr;
    ~leaving();
};

thread_local thread_state *this_state;
thread_local bool has_left;
thread_local leaving at_exit;

leaving::~leaving() {
    this_state = nullptr;
    has_left = true;
    if (of != nullptr) {
        of->id.store(0);
    }
}

thread_state &state() {
    if (this_state == nullptr) {
        this_state = new_state();
        at_exit.of = this_state;
    }
    return *this_state;
}

/* The operator that made a node, 0 unknown. */
uint64_t maker_of(thread_state &t, uint64_t thread, uint64_t number) {
    if (t.asked == nullptr || t.asked->id.load(std::memory_order_relaxed) != thread) {
        const thread_state *s = all_threads.load(std::memory_order_acquire);
        while (s != nullptr && s->id.load(std::memory_order_relaxed) != thread) {
            s = s->next;
        }
        t.asked = s;
    }
    return t.asked != nullptr ? t.asked->nodes.find(number) : 0;
}

/* --- streams --------------------------------------------------------------------------------------------------------- */

void *const LEGACY =
    reinterpret_cast<void *>(1); /* the driver's default stream, the host's own without a GPU */

void *current_stream(thread_state &t) {
    if (!device_in_use.load(std::memory_order_relaxed)) {
        return LEGACY;
    }
    c10::impl::VirtualGuardImpl device(c10::DeviceType::CUDA);
    c10::Stream stream = device.getStream(device.getDevice());
    std::pair<int64_t, int64_t> key{stream.device_index(), stream.id()};
    auto found = t.streams.find(key);
    if (found != t.streams.end()) {
        return found->second;
    }
    uint64_t handle = library.stream_handle(stream.device_index(), stream.id());
    void *address = handle != 0 ? reinterpret_cast<void *>(handle) : LEGACY;
    t.streams.emplace(key, address);
    return address;
}

void *stream_of_now(thread_state &t) {
    return on_current ? current_stream(t) : fixed_stream;
}

/* --- what begins and ends -------------------------------------------------------------------------------------------- */

/* Of whose backward work an operator is that begins now, 0 none. What a backward pass computes with gradients on, although it makes no
 * graph, is a part of the forward pass computed again. */
uint64_t forward_of(const backward_work &work) {
    bool again = !work.makes_nodes && c10::GradMode::is_enabled();
    return work.node != nullptr && !again ? work.forward : 0;
}

/* Nodes from `first` on are made by `op`; in a backward pass by the operator whose gradient is worked out there. */
void note_nodes(thread_state &t, uint64_t first, uint64_t op, const backward_work &work) {
    uint64_t end = at::sequence_number::peek();
    uint64_t forward = forward_of(work);
    for (uint64_t n = first; n < end && (op != 0 || forward != 0); n++) {
        t.nodes.put(n, forward != 0 ? forward : op);
    }
    t.next_node = end;
}

void push_frame(thread_state &t, const at::RecordFunction &fn, uint64_t op, bool is_operator) {
    frame &around = t.frames.back();
    around.evaluated = is_operator ? 0 : around.evaluated;
    frame f;
    f.fn = &fn;
    f.op = op;
    f.recording = t.recording;
    f.is_operator = is_operator;
    f.work = around.work;
    if (is_operator) {
        uint64_t made = at::sequence_number::peek();
        note_nodes(t, made > t.next_node ? made - 1 : made, op, f.work);
    }
    f.first_node = t.next_node;
    t.frames.push_back(f);
}

void begin_operator(thread_state &t, const at::RecordFunction &fn, const op_facts &facts) {
    if (facts.kind == op_kind::composite) {
        return;
    }
    uint64_t op = 0;
    uint64_t forward = forward_of(t.frames.back().work);
    if (facts.kind == op_kind::computes) {
        const char *shapes = with_shapes ? t.shapes.write(fn, facts.n_positional) : nullptr;
        void *stream = stream_of_now(t);
        op = forward != 0 ? library.op_begin_backward(fn.name(), shapes, stream, forward)
                          : library.op_begin(fn.name(), shapes, stream);
    } else if (facts.kind == op_kind::view && fn.seqNr() >= 0) {
        const char *shapes = with_shapes ? t.shapes.write(fn, facts.n_positional) : nullptr;
        if (shapes == nullptr || t.shapes.any_needs_grad()) {
            op = library.op_begin_host(fn.name(), shapes, forward);
        }
    }
    push_frame(t, fn, op, true);
}

/* A torch.autograd.Function, whose node will have the next number; or the engine, which evaluates a node. */
void begin_named(thread_state &t, const at::RecordFunction &fn) {
    if (fn.seqNr() >= 0) {
        uint64_t op = library.op_begin_host(fn.name(), nullptr, forward_of(t.frames.back().work));
        uint64_t number = static_cast<uint64_t>(fn.seqNr());
        push_frame(t, fn, op, false);
        t.nodes.put(number, op);
        t.next_node = number + 1;
        return;
    }
    auto node =
        torch::autograd::get_current_node(); /* a pointer of one kind or another, by version */
    if (!node || node.get() == t.frames.back().work.node) {
        return;
    }
    constexpr uint64_t ACCUMULATES = std::numeric_limits<uint64_t>::max();
    bool has_number = node->sequence_nr() != ACCUMULATES;
    push_frame(t, fn, 0, false);
    frame &f = t.frames.back();
    f.evaluates = true;
    f.work.node = node.get();
    f.work.forward = has_number ? maker_of(t, node->thread_id(), node->sequence_nr())
                                : t.frames[t.frames.size() - 2].evaluated;
    f.work.makes_nodes = c10::GradMode::is_enabled();
}

void begin_node(thread_state &t, const at::RecordFunction &fn) {
    frame &around = t.frames.back();
    around.work.makes_nodes = c10::GradMode::is_enabled();
    bool has_number = fn.seqNr() >= 0;
    uint64_t forward = around.work.forward;
    push_frame(t, fn,
               has_number && forward != 0 ? library.op_begin_host(fn.name(), nullptr, forward) : 0,
               false);
}

void begin_recording(thread_state &t, uint32_t generation) {
    t.recording = generation;
    t.next_node = at::sequence_number::peek();
    t.nodes.forget_before(t.next_node);
    for (frame &f : t.frames) {
        f.work.forward = f.evaluated = 0; /* operators of the recording before */
    }
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction &fn) {
    uint32_t generation = recording();
    if (generation == 0 || has_left) {
        try {
            sleep_after_a_while();
        } catch (...) { /* goes on asking */
        }
        return nullptr;
    }
    calls_in_vain = 0;
    try {
        thread_state &t = state();
        if (t.recording != generation) {
            begin_recording(t, generation);
        }
        uint32_t put = times_put.load(std::memory_order_relaxed);
        if (t.times_put != put) {
            t.times_put = put;
            t.next_node = at::sequence_number::peek();
        }
        const frame &around = t.frames.back();
        if (around.is_operator || around.fn == &fn) { /* the same: two callbacks were put on */
            return nullptr;
        }
        if (fn.scope() == at::RecordScope::BACKWARD_FUNCTION) {
            begin_node(t, fn);
        } else if (const op_facts *facts = t.ops.of(fn)) {
            begin_operator(t, fn, *facts);
        } else {
            begin_named(t, fn);
        }
    } catch (...) { /* not recorded */
    }
    return nullptr;
}

void end_frame(thread_state &t) {
    frame f = t.frames.back();
    t.frames.pop_back();
    if (f.recording != *library.word) {
        return;
    }
    if (f.op != 0) {
        library.op_end(f.op);
    }
    if (f.is_operator) {
        note_nodes(t, f.first_node, f.op, f.work);
    }
    if (f.evaluates) {
        t.frames.back().evaluated = f.work.forward;
    }
}

void end(const at::RecordFunction &fn, at::ObserverContext *) {
    thread_state *t = this_state;
    if (t == nullptr || (t->frames.back().is_operator && t->frames.back().fn != &fn)) {
        return;
    }
    size_t i = t->frames.size() - 1;
    while (i > 0 && t->frames[i].fn != &fn) {
        i--;
    }
    while (i > 0 && t->frames.size() > i) {
        end_frame(*t);
    }
}

/* A name that the program gave: once a step or so. */
std::unique_ptr<at::ObserverContext> watch(const at::RecordFunction &) {
    try {
        wake();
    } catch (...) { /* the next one */
    }
    return nullptr;
}

at::RecordFunctionCallback operators_callback() {
    return at::RecordFunctionCallback(begin, end)
        .needsInputs(with_shapes)
        .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
}

/* --- what it costs --------------------------------------------------------------------------------------------------- */

constexpr int ROUNDS = 16, BATCHES = 7;

uint64_t n_counted; /* rows that the recorder would have been given */

/* A layer's forward pass, with its nodes. No backward pass: that would start the threads of autograd's engine, long before the program
 * does, and with what it has set until then. */
double ns_of_rounds(const at::Tensor &input, const at::Tensor &weight, const at::Tensor &bias) {
    auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < ROUNDS; i++) {
        (void)at::relu(at::linear(input, weight, bias)).sum();
    }
    std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begun;
    return took.count();
}

double ns_of_observed_rounds(const at::Tensor &input, const at::Tensor &weight,
                             const at::Tensor &bias) {
    at::CallbackHandle handle = at::addThreadLocalCallback(operators_callback());
    try {
        double took = ns_of_rounds(input, weight, bias);
        at::removeCallback(handle);
        return took;
    } catch (...) {
        at::removeCallback(handle);
        throw;
    }
}

double cost_of_operator() {
    c10::AutoGradMode graph(true);
    at::Tensor input = at::ones({4, 8});
    at::Tensor weight = at::ones({8, 8}).requires_grad_();
    at::Tensor bias = at::zeros({8}).requires_grad_();
    std::array<double, BATCHES> costs;
    (void)ns_of_rounds(input, weight, bias);
    for (double &cost : costs) {
        double without = ns_of_rounds(input, weight, bias);
        n_counted = 0;
        cost = ns_of_observed_rounds(input, weight, bias) - without;
        cost /= static_cast<double>(std::max<uint64_t>(n_counted, 1));
    }
    std::sort(costs.begin(), costs.end());
    return std::max(costs[BATCHES / 2], 0.0);
}

} // namespace

/* --- for _observer.py ------------------------------------------------------------------------------------------------ */

extern "C" {

#define API __attribute__((visibility("default")))

API void ps_observer_bind(const ps_observer_library *bound) {
    library = *bound;
}

/* Observes this thread and its backward passes. `stream`: handle, 0 host only; not looked at with `current`. False when it failed. */
API int ps_observer_put(int shapes, int current, uint64_t stream) {
    with_shapes = shapes != 0;
    on_current = current != 0;
    fixed_stream = reinterpret_cast<void *>(stream);
    try {
        put_on.store(at::RecordFunction::currentThreadId());
        calls_in_vain = 0;
        is_asleep = false;
        callback = at::addThreadLocalCallback(operators_callback());
        watcher = at::addThreadLocalCallback(
            at::RecordFunctionCallback(watch).scopes({at::RecordScope::USER_SCOPE}));
        times_put.fetch_add(1);
        is_on.store(true);
        return 1;
    } catch (...) {
        return 0;
    }
}

/* `here`: on the thread that put it on; on another one it stays, and does nothing. */
API void ps_observer_remove(int here) {
    is_on.store(false);
    try {
        if (here != 0) {
            at::removeCallback(callback);
            at::removeCallback(watcher);
        }
    } catch (...) { /* a program that has cleared all callbacks */
    }
}

/* A recording may have begun. Whether operators of the thread that it was put on are seen now. */
API int ps_observer_wake(void) {
    try {
        wake();
    } catch (...) { /* as when it is removed */
    }
    return is_on.load() && !is_asleep;
}

/* Nanoseconds that each recorded operator makes a program slower by, PyTorch's part among them, without what the recorder does: the median of
 * some batches of a small layer, forward and backward. 0 where it cannot be told. Before ps_observer_put(),
 * without the interpreter's lock. */
API double ps_observer_cost(int shapes) {
    static const volatile uint32_t always = std::numeric_limits<uint32_t>::max();
    const ps_observer_library real = library;
    with_shapes = shapes != 0;
    on_current = false;
    fixed_stream = LEGACY;
    double cost = 0;
    try {
        library.word = &always;
        library.op_begin = [](const char *, const char *, void *) { return ++n_counted; };
        library.op_begin_backward = [](const char *, const char *, void *, uint64_t) {
            return ++n_counted;
        };
        library.op_begin_host = [](const char *, const char *, uint64_t) { return ++n_counted; };
        library.op_end = [](uint64_t) {};
        is_on.store(true);
        cost = cost_of_operator();
    } catch (...) {
        cost = 0;
    }
    is_on.store(false);
    library = real;
    return cost;
}

/* A device is initialised: from now on its current stream is asked for. */
API void ps_observer_use_device(void) {
    device_in_use.store(true);
}
}
