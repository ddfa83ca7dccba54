// Light or dark, as the reader chose before; `furo.js` changes it.
document.body.dataset.theme = localStorage.getItem("theme") || "auto";
