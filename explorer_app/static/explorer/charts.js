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
  for (const place of document.querySelectorAll("[data-chart]")) {
    const url = place.dataset.chart;
    if (!fetched.has(url)) fetched.set(url, fetch(url).then((answer) => answer.json()));
    const data = (await fetched.get(url))[place.dataset.series];
    if (data[0].length < 2) continue;
    const style = getComputedStyle(document.documentElement);
    const accent = style.getPropertyValue("--accent"), faint = style.getPropertyValue("--faint");
    const axis = { stroke: faint, grid: { stroke: style.getPropertyValue("--line"), width: 1 } };
    place.replaceChildren();
    const chart = new uPlot(
      {
        width: place.clientWidth, height: 240, legend: { show: false }, cursor: { y: false },
        series: [{}, { stroke: accent, fill: `${accent}22`, width: 2, paths: uPlot.paths.stepped({ align: 1 }) }],
        axes: [axis, { ...axis, size: wide, values: (_, ticks) => ticks.map((tick) => tick.toLocaleString("en")) }],
      },
      data,
      place,
    );
    new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: 240 })).observe(place);
  }
});
