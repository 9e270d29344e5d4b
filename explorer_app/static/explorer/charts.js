"use strict";
// Draws large charts in place of the small ones that pages have without scripts. All times are in UTC.

const TEXT = new Intl.NumberFormat("en", { maximumFractionDigits: 9 });
const DAY = 86_400;

/** Returns a time in seconds as an ISO 8601 date and time, without the parts below a chart's resolution. */
function utc(seconds, step = 1) {
  const text = new Date(seconds * 1000).toISOString().replace("T", " ");
  return step >= DAY ? text.slice(0, 10) : step >= 60 ? text.slice(0, 16) : text.slice(0, 19);
}

/** Labels the ticks of the axis of time: dates, or times of day with the date below the first of each day. */
function timeLabels(_chart, ticks, _axis, _space, step) {
  if (step >= DAY) return ticks.map((tick) => utc(tick, DAY));
  return ticks.map((tick, place) => {
    const [day, time] = utc(tick, step).split(" ");
    return place && utc(ticks[place - 1], DAY) === day ? time : `${time}\n${day}`;
  });
}

/** Returns the width of the longest number of an axis with its ticks and a gap. */
function axisWidth(chart, labels, axis) {
  const longest = (labels ?? []).reduce((longest, text) => (text.length > longest.length ? text : longest), "");
  chart.ctx.font = chart.axes[axis].font[0];
  return Math.ceil(chart.ctx.measureText(longest).width / devicePixelRatio) + 20;
}

/** Returns a variable of the palette as a color for a canvas, which knows no variables. */
function color(figure, name) {
  figure.style.color = `var(${name})`;
  const resolved = getComputedStyle(figure).color;
  figure.style.color = "";
  return resolved;
}

/** Returns a range around the values, however little they differ: an axis from zero would show no change of the supply. */
function around(_chart, least, most) {
  const room = (most - least) / 10 || 1;
  return [Math.max(0, least - room), most + room];
}

/** Returns the drawing of one value for each day: bars from zero, with room for half a bar at both ends. */
const bars = () => ({
  paths: uPlot.paths.bars({ size: [0.8, 60] }),
  x: { range: (_chart, first, last) => [first - DAY / 2, last + DAY / 2] },
  y: { range: (_chart, _least, most) => [0, most * 1.1 || 1] },
});

/** Returns the drawing of values that hold until the next one: steps. */
const steps = (isClose) => ({ paths: uPlot.paths.stepped({ align: 1 }), x: {}, y: isClose ? { range: around } : {} });

/** Draws a chart into a figure: by day, or steps over time or blocks, with the values at the pointer. */
function drawChart(figure, data) {
  const palette = (name) => () => color(figure, name);
  const axis = { stroke: palette("--faint"), grid: { stroke: palette("--line"), width: 1 }, ticks: { stroke: palette("--line"), width: 1 } };
  const latest = (value, column) => value ?? data[column].at(-1);
  const byBlock = figure.dataset.x === "block";
  const numbers = (_, ticks) => ticks.map((tick) => TEXT.format(tick));
  const label = figure.dataset.label ?? figure.closest("section").querySelector("h2").textContent;
  const { paths, x, y } = "bars" in figure.dataset ? bars() : steps("close" in figure.dataset);
  const options = {
    scales: { x: { time: !byBlock, ...x }, y }, padding: [null, byBlock ? null : 36, null, null],
    width: figure.clientWidth, height: 280, tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    cursor: { y: false }, legend: { markers: { show: false } },
    series: [
      byBlock ? { label: "Block", value: (_, value) => TEXT.format(latest(value, 0)) } : { label: "Time (UTC)", value: (_, value) => utc(latest(value, 0)) },
      {
        label, value: (_, value) => `${TEXT.format(latest(value, 1))} ${figure.dataset.unit ?? ""}`.trim(),
        stroke: palette("--accent"), fill: palette("--soft"), width: 2, points: { show: false }, paths,
      },
    ],
    axes: [
      byBlock ? { ...axis, space: 60, incrs: [1, 2, 5, 10, 20, 50, 100], values: numbers } : { ...axis, space: 100, size: 48, values: timeLabels },
      { ...axis, size: axisWidth, values: numbers },
    ],
  };
  figure.replaceChildren();
  const chart = new uPlot(options, data, figure);
  new ResizeObserver(() => chart.setSize({ width: figure.clientWidth, height: 280 })).observe(figure);
  addEventListener("themechange", () => chart.redraw(false, true));
}

document.addEventListener("DOMContentLoaded", async () => {
  const fetched = new Map();
  for (const figure of document.querySelectorAll("[data-chart]")) {
    const url = figure.dataset.chart;
    if (!fetched.has(url)) fetched.set(url, fetch(url).then((answer) => answer.json()));
    const data = (await fetched.get(url))[figure.dataset.series];
    if (data[0].length > 1) drawChart(figure, data);
  }
});
