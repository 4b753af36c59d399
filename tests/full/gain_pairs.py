"""Pairs of runs before and after a change. Recorded ones are files that never change; those of ONNX Runtime are made
on this machine by `neurolens profile`."""

import dataclasses
import pathlib

KINETO = "kineto"
NW0 = f"{KINETO}/kineto_tb_resnet50_nw0_worker0.1623143089861.pt.trace.json.gz"
NW4 = f"{KINETO}/kineto_tb_resnet50_nw4_worker0.1623212756351.pt.trace.json.gz"
ORT = "onnxruntime/generated"


def pair(name, before, after, applied=()):
    return {"name": name, "before": [str(run) for run in before], "after": [str(run) for run in after],
            "applied": list(applied)}  # fmt: skip


def recorded_pairs(traces, demo):
    """`demo` is the folder that `neurolens demo` wrote; its traces are simulated."""
    traces, demo = pathlib.Path(traces), pathlib.Path(demo)

    def demo_runs(side):
        return sorted((demo / side).glob("*.json.gz"))

    fetched_ahead = ["data_loading", "launch_bound", "many_short_kernels", "unfused_elementwise", "norm_not_fused"]
    return [
        pair("resnet50, 0 to 4 loader processes", [traces / NW0], [traces / NW4], ["data_loading"]),
        pair("2 GPUs, mfu", [traces / "nsys/nsysai_mfu_2gpu_before.sqlite.gz"], [traces / "nsys/nsysai_mfu_2gpu_after.sqlite.gz"]),
        pair("Kineto's page, a fix", [traces / f"{KINETO}/kineto_docs_before_fix_trace.json"],
             [traces / f"{KINETO}/kineto_docs_after_fix_trace.json"]),
        pair("demo (simulated)", demo_runs("before"), demo_runs("after"), fetched_ahead),
        pair("transformer of the corpus, optimised", [traces / f"{ORT}/transformer_t2_noopt_5runs.json"],
             [traces / f"{ORT}/transformer_t2_optall_5runs.json"], ["unoptimised_graph"]),
    ]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Side:
    model: str
    sizes: tuple = ()
    threads: int = 1
    optimize: str = "all"

    def arguments(self, models):
        sizes = [word for size in self.sizes for word in ("--size", size)]
        return [str(models / f"{self.model}.onnx"), *sizes, "--threads", str(self.threads), "--optimize", self.optimize]

    def but(self, **changes):
        return dataclasses.replace(self, **changes)


def batch(n, *others):
    return (f"batch={n}", *others)


def measured_pairs():
    """(name, before, after, rules whose advice the change follows)"""
    mlp, wide, gelu = Side("mlp", batch(32)), Side("wide_mlp", batch(8)), Side("gelu_mlp", batch(16))
    transformer, conv = Side("transformer", batch(1, "tokens=64")), Side("convnet", batch(1))
    short, small_conv, tiny = transformer.but(sizes=batch(1, "tokens=16")), Side("small_convnet", batch(1)), Side("small_ops", batch(1))
    unoptimised = [(f"{side.model} {side.sizes[-1]}: graph optimised", side.but(optimize="none"), side, ("unoptimised_graph",))
                   for side in (gelu, gelu.but(sizes=batch(2)), transformer, short, conv, small_conv)]
    fused = [("small_ops: graph optimised", tiny.but(optimize="none"), tiny, ("unoptimised_graph", "small_ops_on_cpu"))]
    threads = [(f"{side.model} {side.sizes[-1]}: 1 to 2 threads", side, side.but(threads=2), ("one_thread_of_several",))
               for side in (gelu.but(sizes=batch(64)), transformer, conv)]
    int8 = [(f"{side.model} {side.sizes[-1]}: fp32 to int8", side, side.but(model=f"{side.model}_int8"), ("fp32_products_on_cpu",))
            for side in (mlp, wide, gelu, transformer, short)]
    batches = [(f"{side.model}: batch 1 to {n}", side.but(sizes=batch(1)), side.but(sizes=batch(n)), ("products_of_one_row",))
               for side, n in ((mlp, 8), (wide, 8), (gelu, 8), (mlp, 32), (gelu, 4))]
    return [*unoptimised, *fused, *threads, *int8, *batches]
