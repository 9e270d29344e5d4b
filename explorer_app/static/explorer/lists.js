"use strict";
// On a phone a list that does not fit becomes cards; without scripts it scrolls sideways.

const PHONE = matchMedia("(max-width: 44rem)");

/** Labels the cells of a table with the headings of their columns, for the cards. */
function labelCells(table) {
  const columns = [...table.querySelectorAll("thead th")].map((heading) => heading.textContent.trim());
  for (const row of table.tBodies[0]?.rows ?? [])
    [...row.cells].forEach((cell, place) => columns[place] && (cell.dataset.column = columns[place]));
}

/** Shows a list as cards if its table is wider than its place on a phone. */
function fit(list) {
  list.classList.remove("stacked");
  const isWide = PHONE.matches && list.scrollWidth > list.clientWidth;
  if (isWide) labelCells(list.querySelector("table"));
  list.classList.toggle("stacked", isWide);
}

const widths = new WeakMap();
const lists = new ResizeObserver((changes) => {
  for (const { target, contentRect } of changes) {
    // Cards change the height of the list, which is no reason to measure it again.
    if (widths.get(target) === contentRect.width) continue;
    widths.set(target, contentRect.width);
    fit(target);
  }
});

/** Fits the lists of a part of the page now and at each change of their width. */
function watchLists(root) {
  for (const table of root.querySelectorAll(".scroll > table")) lists.observe(table.parentElement);
}
