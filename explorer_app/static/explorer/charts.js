"use strict";
// Draws large charts in place of the small ones that pages have without scripts.

/** How wide the axis has to be for its longest number, with its ticks and a gap. */
function wide(chart, values, axis) {
  const longest = (values ?? []).reduce((longest, text) => (text.length > longest.length ? text : longest), "");
  chart.ctx.font = chart.axes[axis].font[0];
  return Math.ceil(chart.ctx.measureText(longest).width / devicePixelRatio) + 20;
}

document.addEventListener("DOMContentLoaded", async () => {
  const fetched = new Map();
  for (const figure of document.querySelectorAll("[data-chart]")) {
    const url = figure.dataset.chart;
    if (!fetched.has(url)) fetched.set(url, fetch(url).then((answer) => answer.json()));
    const data = (await fetched.get(url))[figure.dataset.series];
    if (data[0].length < 2) continue;
    const style = getComputedStyle(document.documentElement);
    const accent = style.getPropertyValue("--accent"), faint = style.getPropertyValue("--faint");
    const axis = { stroke: faint, grid: { stroke: style.getPropertyValue("--line"), width: 1 } };
    figure.replaceChildren();
    const chart = new uPlot(
      {
        scales: { x: { time: figure.dataset.x !== "block" } },
        width: figure.clientWidth, height: 240, legend: { show: false }, cursor: { y: false },
        series: [{}, { stroke: accent, fill: `${accent}22`, width: 2, paths: uPlot.paths.stepped({ align: 1 }) }],
        axes: [figure.dataset.x === "block" ? { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100] } : axis, { ...axis, size: wide, values: (_, ticks) => ticks.map((tick) => tick.toLocaleString("en")) }],
      },
      data,
      figure,
    );
    new ResizeObserver(() => chart.setSize({ width: figure.clientWidth, height: 240 })).observe(figure);
  }
});
