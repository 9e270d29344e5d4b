"use strict";
// What a reader has opened, scrolled and focused in a part of a page stays so when the part is drawn anew.

/** How parts of a kind are found: by their tag and first class. */
function kindOf(part) {
  return part.classList.length ? `${part.localName}.${CSS.escape(part.classList[0])}` : part.localName;
}

/** Where a part is: of a kind, the so manieth. */
function placeIn(root, part, kind = kindOf(part)) {
  return { kind, index: [...root.querySelectorAll(kind)].indexOf(part) };
}

/** Where the focus may go: to what leads to the same page, else to what scrolls around it, else to the same place. */
function placesOfFocus(root) {
  const part = document.activeElement;
  if (part === root || !root.contains(part)) return [];
  const places = [];
  if (part.matches("a[href]")) places.push(placeIn(root, part, `a[href="${CSS.escape(part.getAttribute("href"))}"]`));
  const around = part.parentElement.closest("[tabindex]");
  if (around && root.contains(around)) places.push(placeIn(root, around));
  return [...places, placeIn(root, part)];
}

/** Notes what the reader has done to a part of the page; returns what does the same to the one that takes its place. */
function keepReading(root) {
  const opened = [...root.querySelectorAll("details[open]")].map((part) => placeIn(root, part));
  const scrolled = [...root.querySelectorAll("*")]
    .filter((part) => part.scrollLeft || part.scrollTop)
    .map((part) => ({ ...placeIn(root, part), left: part.scrollLeft, top: part.scrollTop }));
  const focused = placesOfFocus(root);

  return (fresh) => {
    const find = ({ kind, index }) => fresh.querySelectorAll(kind)[index];
    for (const place of opened) find(place)?.setAttribute("open", "");
    for (const place of scrolled) find(place)?.scrollTo(place.left, place.top);
    focused.map(find).find(Boolean)?.focus({ preventScroll: true });
  };
}
