"""npu_fusion_attention: the mark that the accounting of FLOPs reads, then the attention itself: by the real plugin where the
program has it, else by PyTorch's scaled_dot_product_attention."""
import sys

from pipescope._hooks import mark_fused_attention

_EVERYTHING = 2147483647


def _wrapped():
    """The plugin's own function, None where there is no plugin."""
    plugin = sys.modules.get("torch_npu")
    function = getattr(plugin, "npu_fusion_attention", None)
    return None if function is npu_fusion_attention else function


def npu_fusion_attention(query, key, value, head_num, input_layout, *args, **kwargs):
    """As torch_npu has it. Without the plugin the result is (attention, None, None, None, 0, 0, 0)."""
    mark_fused_attention(input_layout, kwargs.get("sparse_mode", 0), kwargs.get("actual_seq_qlen"),
                         kwargs.get("actual_seq_kvlen"))
    function = _wrapped()
    if function is not None:
        return function(query, key, value, head_num, input_layout, *args, **kwargs)
    return _by_torch(query, key, value, head_num, input_layout, *args, **kwargs)


def _by_torch(query, key, value, head_num, input_layout, pse=None, padding_mask=None, atten_mask=None, scale=1.0,
              keep_prob=1.0, pre_tockens=_EVERYTHING, next_tockens=_EVERYTHING, inner_precise=0, prefix=None,
              actual_seq_qlen=None, actual_seq_kvlen=None, sparse_mode=0, gen_mask_parallel=True, sync=False, **_):
    if padding_mask is not None or prefix is not None or sparse_mode > 4:
        raise NotImplementedError("npu_fusion_attention without an NPU knows neither padding_mask nor prefix, and sparse "
                                  "modes 0 to 4 only")
    rules = {"pse": pse, "mask": atten_mask, "scale": scale, "dropout": 1.0 - keep_prob, "mode": sparse_mode,
             "band": (pre_tockens, next_tockens)}
    if input_layout == "TND":
        out = _sequences(query, key, value, _ends(actual_seq_qlen), _ends(actual_seq_kvlen), rules)
    else:
        q, k, v = (_to_bnsd(t, input_layout, query, head_num) for t in (query, key, value))
        out = _from_bnsd(_attend(q, k, v, rules), input_layout)
    return out, None, None, None, 0, 0, 0


def _ends(lengths):
    if lengths is None:
        raise ValueError("layout TND needs actual_seq_qlen and actual_seq_kvlen")
    return [int(n) for n in (lengths.tolist() if hasattr(lengths, "tolist") else lengths)]


def _to_bnsd(tensor, layout, query, head_num):
    if layout == "BNSD":
        return tensor
    if layout == "BSND":
        return tensor.transpose(1, 2)
    if layout not in ("BSH", "SBH"):
        raise ValueError("input_layout %r is none of BNSD, BSND, BSH, SBH, TND" % (layout,))
    head_size = query.shape[2] // head_num
    b, s = (0, 1) if layout == "BSH" else (1, 0)
    heads = tensor.reshape(tensor.shape[0], tensor.shape[1], tensor.shape[2] // head_size, head_size)
    return heads.permute(b, 2, s, 3)


def _from_bnsd(tensor, layout):
    if layout == "BNSD":
        return tensor
    if layout == "BSND":
        return tensor.transpose(1, 2)
    together = tensor.permute(0, 2, 1, 3) if layout == "BSH" else tensor.permute(2, 0, 1, 3)
    return together.reshape(together.shape[0], together.shape[1], -1)


def _allowed(q, k, rules):
    """Which positions see each other, as a mask of booleans; None: all."""
    import torch

    mode, mask = rules["mode"], rules["mask"]
    n_q, n_k = q.shape[-2], k.shape[-2]
    if mode in (0, 1) and (mask is not None or rules["band"] == (_EVERYTHING, _EVERYTHING)):
        return None if mask is None else ~mask.to(torch.bool)
    distance = (torch.arange(n_k, device=q.device)[None, :] - torch.arange(n_q, device=q.device)[:, None])
    if mode == 2:
        return distance <= 0
    if mode == 3:
        return distance <= n_k - n_q
    before, after = rules["band"]
    corner = n_k - n_q if mode == 4 else 0
    return (distance <= after + corner) & (distance >= corner - before)


def _attend(q, k, v, rules):
    import torch

    if k.shape[1] != q.shape[1]:
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
    mask = _allowed(q, k, rules)
    if rules["pse"] is not None:
        bias = rules["pse"].to(q.dtype)
        mask = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
    attention = torch.nn.functional.scaled_dot_product_attention
    attention = getattr(attention, "pipescope_wraps", attention)  # npu_fusion_attention has marked it
    return attention(q, k, v, attn_mask=mask, dropout_p=rules["dropout"], scale=rules["scale"])


def _sequences(query, key, value, q_ends, k_ends, rules):
    import torch

    parts, q_from, k_from = [], 0, 0
    for q_end, k_end in zip(q_ends, k_ends):
        q, k, v = (t[a:b].transpose(0, 1).unsqueeze(0)
                   for t, a, b in ((query, q_from, q_end), (key, k_from, k_end), (value, k_from, k_end)))
        parts.append(_attend(q, k, v, rules).squeeze(0).transpose(0, 1))
        q_from, k_from = q_end, k_end
    return torch.cat(parts) if parts else torch.empty_like(query)
