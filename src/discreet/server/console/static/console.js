// The console works without this file.
"use strict";
document.addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
    event.target.form.querySelector("button[data-main]")?.click();
  }
});
