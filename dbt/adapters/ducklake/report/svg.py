"""Draw charts as inline SVG, which fill the width of their container and take their colors from the page's style.

Horizontal positions are percentages and heights are pixels, so text keeps its size at every width. Every text and attribute is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup, escape

HEIGHT = 190
_TOP, _BOTTOM = 18, 22
_PLOT = HEIGHT - _TOP - _BOTTOM
_GUTTER = 13
"""The width of the axis at the left, in percent."""
_FACTORS = (1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True)
class Column:
    """A column of `columns`: the heights of its parts from the bottom, and the text that is shown over it."""

    parts: tuple[float, ...]
    title: str


@dataclass(frozen=True)
class Bar:
    """A bar of `bars`: its label, its length, the text at its end, and its tooltip."""

    label: str
    value: float
    text: str
    title: str


@dataclass(frozen=True)
class Span:
    """A row of `timeline`: from `begin` to `end` as shares of the whole (0 to 1); without a length it is a point."""

    label: str
    begin: float
    end: float
    text: str
    title: str


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """Return an element; `class_` is the attribute `class`, and other underscores are hyphens."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Markup("<" + name + given + ">") + Markup().join(escape(child) for child in children) + Markup(f"</{name}>")


def steps(points: Sequence[tuple[float, float]], label: Callable[[float], str], ends: tuple[str, str], title: str) -> Markup:
    """Return an area under a line that keeps each value until the next point.

    Args:
        points: (place from 0 to 1, value) pairs, in the order of their places.
        label: the text of a value on the axis.
        ends: the labels at the two ends of the axis below.
        title: what the chart shows, for those who cannot see it.
    """
    top = _top(max(value for _, value in points))
    path = ""
    for place, value in points:
        x, y = round(place * 1000, 1), round(100 - value / top * 100, 2)
        path += f"M{x} {y}" if not path else f"H{x}V{y}"
    path += "H1000"
    area = f"{path}V100H{round(points[0][0] * 1000, 1)}Z"
    inner = tag("path", d=area, class_="area") + tag("path", d=path, class_="line", vector_effect="non-scaling-stroke")
    plot = tag(
        "svg", inner, x=f"{_GUTTER}%", y=_TOP, width=f"{100 - _GUTTER}%", height=_PLOT, viewBox="0 0 1000 100", preserveAspectRatio="none"
    )
    return _chart(HEIGHT, title, _grid(top, label), plot, _ends(ends))


def columns(found: Sequence[Column], label: Callable[[float], str], ends: tuple[str, str], title: str) -> Markup:
    """Return columns of stacked parts; the first part has the class `part0`, the next `part1`.

    Args:
        found: the columns from left to right, at least one.
        label: the text of a value on the axis.
        ends: the labels at the two ends of the axis below.
        title: what the chart shows, for those who cannot see it.
    """
    top = _top(max(sum(column.parts) for column in found))
    width = (100 - _GUTTER) / max(len(found), 12)
    drawn = []
    for number, column in enumerate(found):
        base = float(_TOP + _PLOT)
        for kind, value in enumerate(column.parts):
            height = value / top * _PLOT
            base -= height
            place = {"x": f"{_GUTTER + (number + 0.14) * width:.3f}%", "width": f"{width * 0.72:.3f}%"}
            if height:
                drawn.append(
                    tag("rect", tag("title", column.title), y=f"{base:.1f}", height=f"{height:.1f}", class_=f"part{kind}", **place)
                )
    return _chart(HEIGHT, title, _grid(top, label), *drawn, _ends(ends))


def bars(found: Sequence[Bar], title: str) -> Markup:
    """Return horizontal bars with labels at the left and text at their ends."""
    top = max((bar.value for bar in found), default=0) or 1
    row = 30
    drawn = []
    for number, bar in enumerate(found):
        y, width = number * row, bar.value / top * 58
        drawn.append(tag("text", bar.label, x=0, y=y + 19, class_="label"))
        shape = tag(
            "rect",
            tag("title", bar.title),
            x="22%",
            y=y + 6,
            width=f"{max(width, 0.4 if bar.value else 0):.2f}%",
            height=18,
            rx=3,
            class_="part0",
        )
        drawn.append(shape + tag("text", bar.text, x=f"{23 + width:.2f}%", y=y + 19, class_="value"))
    return _chart(len(found) * row, title, *drawn)


def timeline(found: Sequence[Span], ends: tuple[str, str], title: str) -> Markup:
    """Return a row for each span, with its label at the left and its text at the right."""
    row = 26
    drawn = []
    for number, span in enumerate(found):
        y, left, width = number * row, 34 + span.begin * 48, (span.end - span.begin) * 48
        drawn.append(
            tag("svg", tag("title", span.title) + tag("text", span.label, x=0, y=17, class_="label"), y=y, width="33%", height=row)
        )
        drawn.append(tag("rect", x="34%", y=y + 5, width="48%", height=16, rx=3, class_="track"))
        if width:
            drawn.append(
                tag(
                    "rect",
                    tag("title", span.title),
                    x=f"{left:.2f}%",
                    y=y + 5,
                    width=f"{max(width, 0.3):.2f}%",
                    height=16,
                    rx=3,
                    class_="part0",
                )
            )
        else:
            drawn.append(tag("circle", tag("title", span.title), cx=f"{left:.2f}%", cy=y + 13, r=5, class_="point"))
        drawn.append(tag("text", span.text, x="100%", y=y + 17, class_="value", text_anchor="end"))
    below = len(found) * row + 14
    drawn.append(
        tag("text", ends[0], x="34%", y=below, class_="axis") + tag("text", ends[1], x="82%", y=below, class_="axis", text_anchor="end")
    )
    return _chart(below + 6, title, *drawn)


def share(value: float, title: str) -> Markup:
    """Return a thin bar that is filled up to a share from 0 to 1."""
    filled = tag("rect", width=f"{min(max(value, 0), 1) * 100:.1f}%", height=5, rx=2, class_="part0")
    return _chart(5, title, tag("rect", width="100%", height=5, rx=2, class_="track"), filled)


def _chart(height: int, title: str, *children: Markup) -> Markup:
    return tag("svg", *children, class_="chart", width="100%", height=height, role="img", aria_label=title)


def _grid(top: float, label: Callable[[float], str]) -> Markup:
    drawn = Markup()
    for part in (0, 0.5, 1):
        y = _TOP + _PLOT * (1 - part)
        drawn += tag("line", x1=f"{_GUTTER}%", x2="100%", y1=y, y2=y, class_="grid")
        drawn += tag("text", label(top * part), x=0, y=y + 4, class_="axis")
    return drawn


def _ends(ends: tuple[str, str]) -> Markup:
    left = tag("text", ends[0], x=f"{_GUTTER}%", y=HEIGHT - 5, class_="axis")
    return left + tag("text", ends[1], x="100%", y=HEIGHT - 5, class_="axis", text_anchor="end")


def _top(value: float) -> float:
    """Return a round number that is not below a value, and whose half is round too."""
    if value <= 10:
        return max(2.0, 2.0 * ceil(value / 2))
    power = 10.0 ** floor(log10(value))
    return next(factor for factor in _FACTORS if factor * power >= value) * power
