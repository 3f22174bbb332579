"""Rows as columns: what queries and studies give. Plain Python needs nothing else; pyarrow, pandas, polars and DuckDB take them through the
PyCapsule interface of Arrow (`__arrow_c_stream__`), numbers without a copy.
"""
from __future__ import annotations

import ctypes
import html
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from pipescope import _native

if TYPE_CHECKING:
    import numpy
    import pandas
    import pyarrow

__all__ = ["Table", "Field", "Row", "Value"]

Value = Union[int, float, str, None]
Row = Tuple[Value, ...]

_SHOWN_ROWS = 20
_TYPES = {b"l": "int64", b"g": "float64", b"U": "text"}


class Field(NamedTuple):
    """A column: its name, its type ("int64", "float64" or "text") and its unit ("ns", "ns since 1970", "bytes", "percent" ...; "" where it has none)."""
    name: str
    type: str
    unit: str


def _unit_of(schema: _native.ArrowSchema) -> str:
    """Of the metadata: a number of pairs, then each text behind its length."""
    if not schema.metadata:
        return ""
    at = schema.metadata
    texts = []
    for _ in range(2 * ctypes.c_int32.from_address(at).value):
        n = ctypes.c_int32.from_address(at + 4).value
        texts.append(ctypes.string_at(at + 8, n).decode())
        at += 4 + n
    return dict(zip(texts[::2], texts[1::2])).get("unit", "")


def _release(what: Any) -> None:
    if what.release:
        what.release(ctypes.byref(what))


class _Column:
    """Where the values of a column lie. `owner` keeps them there."""

    def __init__(self, owner: Any, array: _native.ArrowArray, field: Field):
        self.owner, self.field = owner, field
        self.n, self.n_null = array.length, array.null_count
        self.valid, self.numbers = array.buffers[0], array.buffers[1]
        self.bytes = array.buffers[2] if field.type == "text" else None

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        """For numpy: an array over the values themselves, which cannot be written."""
        return {"version": 3, "shape": (self.n,), "typestr": "<i8" if self.field.type == "int64" else "<f8", "data": (self.numbers, True)}

    def nulls(self, n: int) -> List[bool]:
        """Of the first n rows whether they are NULL."""
        if not self.n_null:
            return [False] * n
        bits = ctypes.string_at(self.valid, (n + 7) // 8)
        return [not bits[i >> 3] >> (i & 7) & 1 for i in range(n)]

    def values(self, most: Optional[int] = None) -> List[Value]:
        """Of all rows, or the first `most`."""
        n = self.n if most is None else min(most, self.n)
        values: List[Value] = []
        if n > 0 and self.bytes is not None:
            ends = (ctypes.c_int64 * (n + 1)).from_address(self.numbers)
            text = ctypes.string_at(self.bytes, ends[n])
            values = [text[ends[i]:ends[i + 1]].decode("utf-8", "replace") for i in range(n)]
        elif n > 0:
            kind: Any = ctypes.c_double if self.field.type == "float64" else ctypes.c_int64
            values = list((kind * n).from_address(self.numbers))
        if self.n_null:
            values = [None if null else value for value, null in zip(values, self.nulls(n))]
        return values


# Structures that capsules hold, by address: whoever took the stream has moved it out, else it is released with its capsule.
_held: Dict[int, _native.ArrowArrayStream] = {}
_capsule = b"arrow_array_stream"
# Prototypes of our own: what others say of ctypes.pythonapi's functions holds for all who use those.
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def _drop_capsule(capsule: int) -> None:
    stream = _held.pop(_pointer(capsule, _capsule), None)
    if stream is not None:
        _release(stream)


# It lives as long as the process: a capsule may outlive this module.
_end_capsule = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_drop_capsule)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_end_capsule))


class Table:
    """A result: `len(table)` rows, `table["name"]` a column, `for row in table` tuples in the order of the columns.

    Columns are int64, float64 or text; NULL is None. Times are integers of nanoseconds; what a column counts is in `table.units`.

        capture.sql("SELECT name, sum(dur_ns) AS total_ns FROM slice GROUP BY name")
        table["total_ns"]      # [1200, 300]       a list of n rows
        table.rows()           # [("gemm", 1200), ("copy", 300)]
        table.to_pandas()      # a DataFrame, whose columns of numbers are the library's own
        pyarrow.table(table), polars.DataFrame(table), duckdb.sql("SELECT * FROM table")
    """

    def __init__(self, stream: _native.ArrowArrayStream):
        lib = _native.functions()
        self._stream = stream
        weakref.finalize(self, _release, stream).atexit = False  # exit handlers may still read it
        self._columns = self._read(self._again(lib))

    def _again(self, lib: _native.Functions) -> _native.ArrowArrayStream:
        out, error = _native.ArrowArrayStream(), _native.Error()
        _native.check(lib.stream_again(ctypes.byref(self._stream), ctypes.byref(out), ctypes.byref(error)), error)
        return out

    def _read(self, stream: _native.ArrowArrayStream) -> List[_Column]:
        schema, array = _native.ArrowSchema(), _native.ArrowArray()
        try:
            if (stream.get_schema(ctypes.byref(stream), ctypes.byref(schema))
                    or stream.get_next(ctypes.byref(stream), ctypes.byref(array))):
                raise MemoryError("no memory for the columns")
            owner = _Owner(array)
            fields = [schema.children[i].contents for i in range(schema.n_children)]
            return [_Column(owner, array.children[i].contents, Field(f.name.decode("utf-8", "replace"), _TYPES[f.format], _unit_of(f)))
                    for i, f in enumerate(fields)]
        finally:
            _release(schema)
            _release(stream)

    # --- what it is ---

    @property
    def schema(self) -> Tuple[Field, ...]:
        """Name, type and unit of each column."""
        return tuple(c.field for c in self._columns)

    @property
    def columns(self) -> List[str]:
        """The names of the columns, in order."""
        return [c.field.name for c in self._columns]

    @property
    def units(self) -> Dict[str, str]:
        """The unit of each column that has one, by name."""
        return {c.field.name: c.field.unit for c in self._columns if c.field.unit}

    def __len__(self) -> int:
        return self._columns[0].n if self._columns else 0

    @property
    def shape(self) -> Tuple[int, int]:
        """(rows, columns)"""
        return len(self), len(self._columns)

    # --- plain Python ---

    def _column(self, name: str) -> _Column:
        for c in self._columns:
            if c.field.name == name:
                return c
        raise KeyError("there is no column %r; there are %s" % (name, ", ".join(self.columns)))

    def __getitem__(self, name: str) -> List[Value]:
        """The values of a column, a list of len(table)."""
        return self._column(name).values()

    def rows(self) -> List[Row]:
        """All rows as tuples."""
        return list(zip(*(c.values() for c in self._columns)))

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows())

    def to_dicts(self) -> List[Dict[str, Value]]:
        """All rows as dicts by the names of the columns."""
        names = self.columns
        return [dict(zip(names, row)) for row in self.rows()]

    def scalar(self) -> Value:
        """The one value of a table of one row and column."""
        if self.shape != (1, 1):
            raise ValueError("%d rows of %d columns are no single value" % self.shape)
        return self._columns[0].values()[0]

    # --- other packages ---

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A capsule with an ArrowArrayStream over the columns themselves. `requested_schema` is not heeded, as the interface allows."""
        stream = self._again(_native.functions())
        address = ctypes.addressof(stream)
        _held[address] = stream
        return _new(address, _capsule, ctypes.cast(_end_capsule, ctypes.c_void_p))

    def address(self, name: str) -> int:
        """Where the values of a column of numbers begin in memory; of texts the int64 places at which each begins."""
        return int(self._column(name).numbers)

    def numpy(self, name: str) -> numpy.ndarray:
        """A column as an array of len(table): of numbers the values themselves, not to be written (a NULL among integers is 0, among reals NaN), of
        texts objects. Needs numpy."""
        import numpy
        column = self._column(name)
        if column.field.type == "text":
            out = numpy.empty(column.n, dtype=object)
            out[:] = column.values()
            return out
        return numpy.asarray(column)

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow.Table over the columns themselves. Needs pyarrow (14 or newer)."""
        import pyarrow
        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame of shape (rows, columns). Numbers are the library's own columns without a copy: int64, float64 with NaN for NULL; integers with
        NULL are Int64 (their bits of NULL are made), since a float would lose nanoseconds. Texts are copied, NULL is None. Needs pandas; pyarrow, where it
        is there, makes the texts faster. The units are in `frame.attrs["units"]`."""
        import numpy
        import pandas
        columns: Dict[int, Any] = {}
        for i, c in enumerate(self._columns):
            if c.field.type == "text":
                columns[i] = self._texts_for_pandas(i)
            elif c.field.type == "int64" and c.n_null:
                bits = numpy.frombuffer(ctypes.string_at(c.valid, (c.n + 7) // 8), dtype=numpy.uint8)
                is_null = numpy.unpackbits(bits, count=c.n, bitorder="little") == 0
                columns[i] = pandas.arrays.IntegerArray(numpy.asarray(c), is_null, copy=False)
            else:
                columns[i] = numpy.asarray(c)
        frame = pandas.DataFrame(columns, copy=False)
        frame.columns = self.columns
        frame.attrs["units"] = self.units
        return frame

    def _texts_for_pandas(self, i: int) -> Any:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            import numpy
            out = numpy.empty(len(self), dtype=object)
            out[:] = self._columns[i].values()
            return out
        if not hasattr(self, "_arrow"):
            self._arrow = self.to_arrow()
        return self._arrow.column(i).to_pandas().array

    # --- what people see ---

    def _heads(self) -> List[str]:
        """The names, with the unit where the name does not end in it."""
        return [f.name + (" [%s]" % f.unit if f.unit and not f.name.endswith("_" + f.unit) else "") for f in self.schema]

    def _first(self, n: int) -> List[Row]:
        return list(zip(*(c.values(n) for c in self._columns)))

    def __repr__(self) -> str:
        shown = [self._heads()] + [["" if v is None else _text_of(v) for v in row] for row in self._first(_SHOWN_ROWS)]
        widths = [min(48, max(len(row[i]) for row in shown)) for i in range(len(self._columns))]
        numbers = [f.type != "text" for f in self.schema]
        lines = ["  ".join(_cut(cell, w).rjust(w) if right else _cut(cell, w).ljust(w)
                           for cell, w, right in zip(row, widths, numbers)).rstrip() for row in shown]
        more = len(self) - _SHOWN_ROWS
        return "\n".join(lines + (["... and %d more rows" % more] if more > 0 else []))

    def _repr_html_(self) -> str:
        """For notebooks: the first rows, and how many there are."""
        right = ['<%s style="text-align:right">' if f.type != "text" else '<%s style="text-align:left">' for f in self.schema]
        head = "".join(r % "th" + html.escape(name) + "</th>" for r, name in zip(right, self._heads()))
        body = "".join("<tr>" + "".join(r % "td" + html.escape("" if v is None else _text_of(v)) + "</td>" for r, v in zip(right, row))
                       + "</tr>" for row in self._first(_SHOWN_ROWS))
        n = len(self)
        return ('<div><table border="1" class="dataframe pipescope"><thead><tr>%s</tr></thead><tbody>%s</tbody></table><p>%s</p></div>'
                % (head, body, "%d row%s, %d column%s" % (n, "" if n == 1 else "s", len(self._columns), "" if len(self._columns) == 1 else "s")))


class _Owner:
    """The array of a batch, released with the last column that lies in it."""

    def __init__(self, array: _native.ArrowArray):
        self.array = array
        weakref.finalize(self, _release, array).atexit = False


def _text_of(value: Value) -> str:
    return "%.6g" % value if isinstance(value, float) else str(value)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[:width - 1] + "\u2026"
