// Makes elements: element("button", { type: "button" }, "Start").

export function element(name, fields = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(fields)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export function show(panel, ...children) {
  panel.replaceChildren(...children);
  panel.querySelector("[autofocus]")?.focus();
}

// A text with its {places} filled in.
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}
