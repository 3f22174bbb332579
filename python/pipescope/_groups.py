"""What torch.distributed knows: the rank, and the groups that the process is in. PyTorch is looked at only when the program
has loaded it and its distributed part is up."""
import json
import os
import sys

from pipescope import _library, _say

# Where the library looks for the rank by itself.
RANK_VARIABLES = ("PIPESCOPE_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "PADDLE_TRAINER_ID")

# Descriptions that Megatron gives its groups -> the short names that analyses know.
_MEGATRON = {
    "TENSOR_MODEL_PARALLEL_GROUP": "tp", "PIPELINE_MODEL_PARALLEL_GROUP": "pp", "DATA_PARALLEL_GROUP": "dp",
    "DATA_PARALLEL_GROUP_WITH_CP": "dp_cp", "CONTEXT_PARALLEL_GROUP": "cp", "EXPERT_MODEL_PARALLEL_GROUP": "ep",
    "MODEL_PARALLEL_GROUP": "mp", "EMBEDDING_GROUP": "embd", "POSITION_EMBEDDING_GROUP": "pos_embd",
    "TENSOR_AND_DATA_PARALLEL_GROUP": "tp_dp", "TENSOR_AND_CONTEXT_PARALLEL_GROUP": "tp_cp",
}
_PIPELINES = ("pp", "pipe", "pipeline", "stage", "pp_group")
_MAX_VALUE = 4096  # characters of a metadata value

_names = {}  # id of a process group -> name given by an adapter


def _distributed():
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return distributed
    except Exception:  # a torch that is still being imported
        pass
    return None


def settle_rank():
    """Tells the library the rank of torch.distributed, when nothing else says one."""
    if any(os.environ.get(name) for name in RANK_VARIABLES):
        return
    distributed = _distributed()
    if distributed is not None:
        _library.set_option("rank", distributed.get_rank())


def kind_of(description):
    """"pp", "tp" ... for what a framework calls a group; the text itself when it is none of those."""
    if description in _MEGATRON:
        return _MEGATRON[description]
    name = description[5:] if description.startswith("mesh_") else description  # a dimension of a device mesh
    return "pp" if name.lower() in _PIPELINES else name


def name_group(group, name):
    """An adapter knows what a group is for. None: the default group."""
    distributed = _distributed()
    if group is None and distributed is not None:
        group = distributed.distributed_c10d._get_default_group()
    if group is not None:
        _names[id(group)] = name


def parallel_group_info():
    """{communicator: {"group_name", "group_rank", "global_ranks"}} of the groups that this rank is in; {} without
    torch.distributed."""
    distributed = _distributed()
    if distributed is None:
        return {}
    from torch.distributed import distributed_c10d

    groups = {}
    rank = distributed.get_rank()
    for group in list(distributed_c10d._world.pg_map):
        ranks = [int(r) for r in distributed.get_process_group_ranks(group)]
        if rank not in ranks:
            continue
        key = str(getattr(group, "group_name", "") or len(groups))
        description = str(getattr(group, "group_desc", "") or "")
        described = description not in ("", "undefined")
        is_default = group is distributed_c10d._get_default_group()
        name = (_names.get(id(group)) or (kind_of(description) if described and not is_default else "")
                or ("default_group" if is_default else key))
        groups[key if key not in groups else "%s_%d" % (key, len(groups))] = {
            "group_name": name, "group_rank": ranks.index(rank), "global_ranks": ranks}
    return groups


def note_groups(add_json):
    """Adds the metadata key parallel_group_info through add_json(key, text) when there is any group. Never raises."""
    try:
        groups = parallel_group_info()
        text = json.dumps(groups)
        while len(text) > _MAX_VALUE:
            largest = max(groups, key=lambda key: len(groups[key]["global_ranks"]))
            _say.warn_once("groups-size", "parallel_group_info has no room for group %s of %d ranks",
                           groups[largest]["group_name"], len(groups[largest]["global_ranks"]))
            del groups[largest]
            text = json.dumps(groups)
        if groups:
            add_json("parallel_group_info", text)
    except Exception as error:
        _say.warn_once("groups", "the groups of torch.distributed could not be read: %s: %s", type(error).__name__, error)
