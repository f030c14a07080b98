"use strict";
const folded = () => Array.from(document.querySelectorAll("details"));
let closed = [];
addEventListener("beforeprint", () => {
  closed = folded().filter((one) => !one.open);
  closed.forEach((one) => { one.open = true; });
});
addEventListener("afterprint", () => {
  closed.forEach((one) => { one.open = false; });
});
const button = document.getElementById("open-all");
button.hidden = !folded().length;
button.addEventListener("click", () => {
  const open = button.textContent === "Open all";
  folded().forEach((one) => { one.open = open; });
  button.textContent = open ? "Close all" : "Open all";
});
