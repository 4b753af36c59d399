#!/usr/bin/env python3
"""Writes profiles of one model on three backends, MADE BY HAND: no hardware was measured. usage: three_backends.py OUT_DIR

The model is an encoder of two layers. Each backend has its own idea of it, as real ones do: PyTorch runs op by op on a
GPU, ONNX Runtime runs nodes on a CPU with some fused, TensorRT times fused layers. The same bytes each time.
"""
import json
import pathlib
import sys

LAYERS, RUNS = 2, 12
HIDDEN, TOKENS, INNER = 256, 128, 1024
X, W, UP = [TOKENS, HIDDEN], [HIDDEN, HIDDEN], [HIDDEN, INNER]

# Of one layer: op, kernel, its time in ns, shapes of its inputs.
TORCH_LAYER = [
    ("aten::native_layer_norm", "vectorized_layer_norm_kernel", 4200, [X, [HIDDEN]]),
    ("aten::addmm", "ampere_fp16_gemm_128x64_qkv", 11800, [X, [HIDDEN, 3 * HIDDEN]]),
    ("aten::_scaled_dot_product_flash_attention", "flash_fwd_kernel", 15400, [X, X, X]),
    ("aten::addmm", "ampere_fp16_gemm_64x64_out", 6900, [X, W]),
    ("aten::add", "vectorized_elementwise_kernel_add", 2500, [X, X]),
    ("aten::native_layer_norm", "vectorized_layer_norm_kernel", 4200, [X, [HIDDEN]]),
    ("aten::addmm", "ampere_fp16_gemm_128x128_up", 14900, [X, UP]),
    ("aten::gelu", "vectorized_elementwise_kernel_gelu", 3800, [[TOKENS, INNER]]),
    ("aten::addmm", "ampere_fp16_gemm_128x64_down", 13700, [[TOKENS, INNER], [INNER, HIDDEN]]),
    ("aten::add", "vectorized_elementwise_kernel_add", 2500, [X, X]),
]
# Of one layer: node, op type, its time in us, shapes of its inputs.
ORT_LAYER = [
    ("norm1/LayerNormalization", "LayerNormalization", 96, [X, [HIDDEN]]),
    ("attention/qkv/MatMul", "MatMul", 512, [X, [HIDDEN, 3 * HIDDEN]]),
    ("attention/Attention", "Attention", 431, [X, X, X]),
    ("attention/out/MatMul", "MatMul", 187, [X, W]),
    ("norm2/SkipLayerNormalization", "SkipLayerNormalization", 104, [X, X, [HIDDEN]]),
    ("mlp/up/MatMul", "MatMul", 655, [X, UP]),
    ("mlp/BiasGelu", "BiasGelu", 142, [[TOKENS, INNER]]),
    ("mlp/down/MatMul", "MatMul", 671, [[TOKENS, INNER], [INNER, HIDDEN]]),
    ("mlp/Add", "Add", 38, [X, X]),
]
# Of one layer: fused layer, type, its time in us.
TRT_LAYER = [
    ("/norm1/LayerNormalization", "Normalization", 3.1),
    ("/attention/qkv/MatMul + /attention/qkv/Add", "MatrixMultiply", 9.7),
    ("/attention/fused_attention", "kgen", 10.2),
    ("/attention/out/MatMul + /attention/Add", "MatrixMultiply", 5.9),
    ("/norm2/LayerNormalization", "Normalization", 3.1),
    ("/mlp/up/MatMul + /mlp/Gelu", "MatrixMultiply", 12.8),
    ("/mlp/down/MatMul + /mlp/Add", "MatrixMultiply", 11.9),
]


def us(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


def event(category, name, start, dur, process, thread, **args):
    return (f'{{"ph":"X","cat":"{category}","name":"{name}","pid":{process},"tid":{thread},"ts":{us(start)},"dur":{us(dur)},'
            f'"args":{json.dumps(args)}}}')


def torch_step(step, begin):
    """Events of one step, and the time when the next may begin: the host launches each kernel by itself."""
    host, device, events = begin + 20_000, 0, []
    for op, kernel, dur, shapes in TORCH_LAYER * LAYERS:
        correlation = 1000 + step * 100 + len(events)
        events.append(event("cpu_op", op, host, 13_000, 1, 1, **{"External id": correlation, "Input Dims": shapes,
                                                                "Input type": ["c10::Half"] * len(shapes)}))
        events.append(event("cuda_runtime", "cudaLaunchKernel", host + 6_000, 5_000, 1, 1, correlation=correlation))
        device = max(device, host + 14_000)
        events.append(event("kernel", kernel, device, dur, 0, 7, device=0, stream=7, correlation=correlation,
                            grid=[64, 1, 1], block=[128, 1, 1]))
        device, host = device + dur + 1_000, host + 15_000
    end = max(host, device) + 10_000
    return events + [event("user_annotation", f"ProfilerStep#{step}", begin, end - begin, 1, 1)], end


def torch_trace():
    events, now = [], 0
    for step in range(RUNS):
        more, now = torch_step(step, now)
        events += more
    device = {"id": 0, "name": "GPU of a profile made by hand", "totalGlobalMem": 85899345920, "computeMajor": 8,
              "computeMinor": 0, "numSms": 108}
    return (f'{{"schemaVersion":1,"deviceProperties":[{json.dumps(device)}],"cuda_runtime_version":12040,"record_shapes":1,\n'
            '"traceEvents":[\n' + ",\n".join(events) + "\n]}\n")


def ort_event(category, name, start, dur, **args):
    return json.dumps({"cat": category, "pid": 1, "tid": 1, "dur": dur, "ts": start, "ph": "X", "name": name, "args": args})


def ort_trace():
    now = 9_000
    events = [ort_event("Session", "model_loading_uri", 5, 2_400), ort_event("Session", "session_initialization", 2_450, 6_100)]
    for run in range(RUNS):
        begin, now = now, now + 20
        for layer in range(LAYERS):
            for at, (node, op, dur, shapes) in enumerate(ORT_LAYER):
                args = {"op_name": op, "provider": "CPUExecutionProvider", "node_index": str(layer * len(ORT_LAYER) + at),
                        "input_type_shape": [{"float": shape} for shape in shapes], "thread_scheduling_stats": ""}
                events.append(ort_event("Node", f"/layers.{layer}/{node}_kernel_time", now, dur + run % 3, **args))
                now += dur + 4
        events.append(ort_event("Session", "SequentialExecutor::Execute", begin + 10, now - begin - 10))
        events.append(ort_event("Session", "model_run", begin, now - begin + 10))
        now += 60
    return "[\n" + ",\n".join(events) + "\n]\n"


def trt_layers():
    return [(f"/layers.{n}{name}", kind, time) for n in range(LAYERS) for name, kind, time in TRT_LAYER]


def trt_profile():
    total = sum(time for _, _, time in trt_layers())
    rows = [{"count": RUNS}]
    rows += [{"name": name, "timeMs": round(RUNS * time / 1000, 6), "averageMs": round(time / 1000, 6),
              "medianMs": round(time / 1000, 6), "percentage": round(100 * time / total, 4)} for name, _, time in trt_layers()]
    return json.dumps(rows, indent=1) + "\n"


def trt_layer_info():
    tensor = {"Location": "Device", "Dimensions": X, "Format/Datatype": "Row major linear FP16"}
    layers = [{"Name": name, "LayerType": kind, "Inputs": [{"Name": f"in{at}", **tensor}],
               "Outputs": [{"Name": f"in{at + 1}", **tensor}], "TacticName": "made_by_hand"}
              for at, (name, kind, _) in enumerate(trt_layers())]
    return json.dumps({"Layers": layers, "Bindings": ["input", "output"]}, indent=1) + "\n"


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, text in [("torch.json", torch_trace()), ("onnxruntime.json", ort_trace()), ("engine.profile.json", trt_profile()),
                       ("engine.layers.json", trt_layer_info())]:
        (out / name).write_text(text)
