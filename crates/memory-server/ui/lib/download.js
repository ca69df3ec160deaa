// Files that the page makes from what it shows.

/** Time in which a browser has begun to read a file, in milliseconds. */
const READ_MS = 10000;

/** Saves a text as a file. */
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), READ_MS);
}
