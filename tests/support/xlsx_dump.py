#!/usr/bin/env python3
"""Prints what is in a workbook, one fact a line: xlsx_dump.py FILE [cells|layout]

cells: "Sheet1!A1 t text" or "n number" or "b" (blank). layout: widths, heights, merged cells, panes and the looks of
the header's and the first data cell. Only the standard library is used.
"""
import sys
import xml.etree.ElementTree as ET
import zipfile

NS = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}


def text_of(node):
    return "".join(t.text or "" for t in node.iter("{%s}t" % NS["m"]))


def cell_line(cell, strings):
    kind = cell.get("t", "n")
    value = cell.find("m:v", NS)
    if kind == "s":
        return "t " + strings[int(value.text)]
    if kind == "inlineStr":
        return "t " + text_of(cell.find("m:is", NS))
    if cell.find("m:f", NS) is not None:
        return "formula"
    return "b" if value is None else "n " + value.text


def look(styles, index):
    xf = styles.find("m:cellXfs", NS)[index]
    font = styles.find("m:fonts", NS)[int(xf.get("fontId"))]
    fill = styles.find("m:fills", NS)[int(xf.get("fillId"))][0]
    border = styles.find("m:borders", NS)[int(xf.get("borderId"))]
    color = fill.find("m:fgColor", NS)
    sides = [border.find("m:" + side, NS).get("style", "none") for side in ("left", "right", "top", "bottom")]
    alignment = xf.find("m:alignment", NS)
    return "%s %s%s, fill %s %s, borders %s, vertical %s" % (
        font.find("m:name", NS).get("val"), font.find("m:sz", NS).get("val"),
        " bold" if font.find("m:b", NS) is not None else "",
        fill.get("patternType"), "-" if color is None else color.get("rgb"), "/".join(sides),
        alignment.get("vertical") if alignment is not None else "-")


def main():
    what = sys.argv[2] if len(sys.argv) > 2 else "cells"
    book = zipfile.ZipFile(sys.argv[1])
    names = book.namelist()
    strings = []
    if "xl/sharedStrings.xml" in names:
        strings = [text_of(si) for si in ET.fromstring(book.read("xl/sharedStrings.xml")).findall("m:si", NS)]
    styles = ET.fromstring(book.read("xl/styles.xml"))
    sheets = ET.fromstring(book.read("xl/workbook.xml")).find("m:sheets", NS)
    for number, sheet in enumerate(sheets, 1):
        root = ET.fromstring(book.read("xl/worksheets/sheet%d.xml" % number))
        name = sheet.get("name")
        rows = root.find("m:sheetData", NS)
        if what == "cells":
            for cell in rows.iter("{%s}c" % NS["m"]):
                print("%s!%s %s" % (name, cell.get("r"), cell_line(cell, strings).encode("unicode_escape").decode()))
            continue
        cols = root.find("m:cols", NS)
        for col in cols if cols is not None else []:
            print("%s columns %s-%s width %s" % (name, col.get("min"), col.get("max"), col.get("width")))
        for row in rows:
            if row.get("customHeight"):
                print("%s row %s height %s" % (name, row.get("r"), row.get("ht")))
        merged = root.find("m:mergeCells", NS)
        print("%s merged %s" % (name, " ".join(m.get("ref") for m in merged) if merged is not None else "-"))
        print("%s panes %s" % (name, "frozen" if root.find(".//m:pane", NS) is not None else "none"))
        for row in list(rows)[:2]:
            print("%s row %s: %s" % (name, row.get("r"), look(styles, int(row[0].get("s", 0)))))


main()
