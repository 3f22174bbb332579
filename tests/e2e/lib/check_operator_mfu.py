#!/usr/bin/env python3
"""Compares results of operator_mfu with the tables of the shared data folder.

    check_operator_mfu.py toy DATABASE EXPECTED_FOLDER     records, and modules
    check_operator_mfu.py shapes DATABASE EXPECTED_TSV     FLOPs from shapes alone
    check_operator_mfu.py drop DATABASE                    removes the records from an input
"""
import csv
import sqlite3
import sys

# 24 cores at 1800 MHz; every kernel of the vectors takes 100 us.
PEAK = 24 * 1800e6 * 8192
# Where the reference is wrong or gives nothing: per cent, worked out by hand.
#   mm_mixed, gmm: as mm_nd, 2 x 1024 x 256 x 512; mm_bmm, mm_3d: eight of them
#   fa_q_gt_k_2: 2 x 2 x 16 x 128 x (1024 x 512 - 512^2 / 2); _3: ... x 512^2 / 2; fa_q_lt_k_2 and _3 likewise
#   fa_mode1: all, as fa_bnsd0; fa_mla_dv: head sizes 192 + 128; fa_tnd: half of (400^2 + 624^2)
OURS = {
    "k_mm_mixed": "0.76%", "k_gmm": "0.76%", "k_mm_bmm": "6.07%", "k_mm_3d": "6.07%",
    "k_fa_q_gt_k_2": "9.1%", "k_fa_q_gt_k_3": "3.03%", "k_fa_q_lt_k_2": "3.03%", "k_fa_q_lt_k_3": "9.1%",
    "k_fa_mode1": "6.07%", "k_fa_mla_dv": "15.17%", "k_fa_tnd": "3.18%",
}
# FP8 has FLOPs, but the cube's rate for it is not known.
NO_PEAK = {"k_mm_fp8"}


def rows_of(database, query):
    db = sqlite3.connect(database)
    db.row_factory = sqlite3.Row
    return [dict(row) for row in db.execute(query)]


def tsv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def same(what, got, expected):
    if got != expected:
        sys.exit(f"{what}: {got!r}, not {expected!r}")


def check_toy(database, folder):
    records = rows_of(database, 'select o.* from OperatorMFU o join KernelFlops k using (kernel_name, flops_op_name) '
                                "where k.source = 'recorded' order by o.\"kernel_start(ns)\"")
    expected = tsv(folder + "/OperatorMFU.tsv")
    same("recorded kernels", len(records), len(expected))
    for got, row in zip(records, expected):
        same("OperatorMFU", {key: str(value) for key, value in got.items()}, row)
    modules = rows_of(database, "select * from ModuleMFU")
    expected = tsv(folder + "/ModuleMFU.tsv")
    same("operators of modules", len(modules), len(expected))
    for got, row in zip(modules, expected):
        if row["op_name"] == "aclnnFlashAttentionScore":  # no records, but shapes and markers
            row["avg_mfu"] = "10.34%"
        same("average", round(got.pop("avg_kernel_duration(ns)"), 6),
             round(float(row.pop("avg_kernel_duration(ns)")), 6))
        same("ModuleMFU", {key: str(value) for key, value in got.items()}, row)


def check_shapes(database, path):
    flops = {row["kernel_name"]: row for row in rows_of(database, "select * from OperatorMFU")}
    for row in tsv(path):
        name = row["kernelList"]
        got = flops.pop(name, None)
        if name in NO_PEAK:
            same(name, got["mfu"], None)
            continue
        peak = PEAK * (2 if name == "k_mm_int8" else 1)
        text = "" if got is None else f"{round(100 * got['flops'] / 1e-4 / peak, 2)}%"
        same(name, text, OURS.get(name, row["avgMFU"]))
        if got is not None:
            same(name + " mfu", got["mfu"], round(got["flops"] / 1e-4 / peak, 4))
    same("left over", flops, {})


def drop(database):
    db = sqlite3.connect(database)
    db.execute("delete from MSTX_EVENTS where domainId = (select id from STRING_IDS where value = 'mfu_flops')")
    db.commit()


if __name__ == "__main__":
    {"toy": check_toy, "shapes": check_shapes, "drop": drop}[sys.argv[1]](*sys.argv[2:])
