"""Keys of profiler_metadata.json. Ours hold for every recording of the process; the library keeps and writes them."""
import json

from pipescope import _library, _say

MAX_CHARACTERS = 4096
MAX_TOTAL = 50 * 1024

_sizes = {}  # key -> characters of key and value
_said = set()  # keys that the program gave; others are what an adapter worked out


def _is_text(value, what):
    if not isinstance(value, str):
        _say.warn("metadata: the %s must be a str, not %s: left out", what, type(value).__name__)
        return False
    if len(value) > MAX_CHARACTERS:
        _say.warn("metadata: the %s has %d characters, more than %d: left out", what, len(value), MAX_CHARACTERS)
        return False
    return True


def _add(key, text):
    size = len(key) + len(text)
    if sum(_sizes.values()) - _sizes.get(key, 0) + size > MAX_TOTAL:
        _say.warn("metadata: no room for key %r: all keys together have at most %d characters", key, MAX_TOTAL)
        return False
    lib = _library.functions()
    if lib is None:
        return False
    code = lib.add_metadata(key.encode("utf-8", "replace"), text.encode("utf-8", "replace"))
    if code != _library.OK:
        _say.warn("metadata: key %r was not taken: %s", key, _library.error_text(code))
        return False
    _sizes[key] = size
    return True


def add_metadata(key, value):
    """`value`: a text."""
    if _is_text(key, "key") and _is_text(value, "value of %r" % key):
        _said.add(key)
        return _add(key, json.dumps(value))
    return False


def add_metadata_json(key, value):
    """`value`: a text that is JSON. A key that is there already gets the new value, and the library says so."""
    if not _is_text(key, "key") or not _is_text(value, "value of %r" % key):
        return False
    try:
        json.loads(value)
    except ValueError as error:
        _say.warn("metadata: the value of %r is no JSON (%s): left out", key, error)
        return False
    _said.add(key)
    return _add(key, value)


def add_default_json(key, value):
    """What an adapter worked out; what the program says wins, whenever it does."""
    return key not in _said and _add(key, value)
