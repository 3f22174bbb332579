"""The sizes of the job, by the names that Megatron gives the functions."""
import os


def get_pipeline_model_parallel_world_size():
    return int(os.environ["WORLD_SIZE"])


def get_pipeline_model_parallel_rank():
    return int(os.environ["RANK"])


def get_tensor_model_parallel_world_size():
    return 1


def get_data_parallel_world_size():
    return 1
