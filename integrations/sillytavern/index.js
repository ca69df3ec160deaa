// Memory of a memory-engine server for SillyTavern. The interceptor searches before a reply is generated; the events of
// the chat keep its stored messages up to date. A failing server is reported once, and never ends a reply.

import { chatOwner } from "./messages.js";
import { DEFAULT_REWRITE_PROMPT, recall } from "./recall.js";
import { request } from "./server.js";
import { ChatSync, chatState, includeEarlier, leaveOut } from "./turns.js";

const NAME = "memory_engine";
const FOLDER = new URL(".", import.meta.url).pathname.match(/extensions\/(.+)\/$/)[1];
const DEFAULTS = {
  enabled: true,
  url: "http://127.0.0.1:8765",
  key: "",
  user: "",
  character: "{{char}}",
  limit: 5,
  threshold: 0.1,
  maxChars: 1500,
  timeLimit: 1500,
  rewrite: false,
  rewritePrompt: DEFAULT_REWRITE_PROMPT,
};
const RANGES = { limit: [1, 50], threshold: [0, 1], maxChars: [100, 10000], timeLimit: [100, 10000] };
/** Position of the memories: behind the main prompt. The value of SillyTavern's extension_prompt_types.IN_PROMPT. */
const IN_PROMPT = 0;
/** Events come in groups, such as an edit with its update. */
const SYNC_DELAY_MS = 300;
/** Time after which messages are sent again that could not be stored. */
const RETRY_DELAY_MS = 20000;
/** Time after which the same failure is shown again. */
const REPEAT_MS = 60 * 60 * 1000;
/** Number of messages from which on the progress of storing them is shown. */
const MIN_PROGRESS = 10;
const FORMS = {
  question: "Found by the message: ${0}",
  context: "Found by the message with the dialogue before it: ${0}",
  rewritten: "Found by the rewritten question: ${0}",
  none: "No message to search for.",
};

const context = () => SillyTavern.getContext();
const settings = () => context().extensionSettings[NAME];
const element = (name) => document.getElementById(`${NAME}_${name}`);

let handle = "default-user";
let isGenerating = false;
let mayBeStored = false;
let timer;
/** Counts the changes of the settings: a request with earlier ones fails without a notice. */
let settingsVersion = 0;
let queue = Promise.resolve();
const shownAt = new Map();

function translate(text, ...values) {
  return context()
    .translate(text)
    .replace(/\$\{(\d)\}/g, (_, index) => values[index]);
}

const owner = () => chatOwner(context(), settings(), handle);

function showStatus(text) {
  if (element("status")) element("status").textContent = text;
}

/** Shows a failure in the settings, and the first of each kind also as a notice. */
function report(error) {
  const kind = error.kind ?? "internal";
  // The text of an unexpected error may contain what was sent.
  console.warn(`memory-engine: ${kind}`);
  const text = error.kind ? translate(error.text, ...error.values) : `${error.name}`;
  showStatus(text);
  if (Date.now() - (shownAt.get(kind) ?? -Infinity) < REPEAT_MS) return;
  shownAt.set(kind, Date.now());
  toastr.warning(text, translate("Memory"), { escapeHtml: true });
}

function setBlock(text) {
  context().setExtensionPrompt(NAME, text, IN_PROMPT, 0);
  if (element("block")) element("block").textContent = text;
}

globalThis.memoryEngineInterceptor = async (_chat, contextSize, _abort, type) => {
  setBlock("");
  const chat = context().getCurrentChatId();
  if (!settings()?.enabled || type === "quiet" || !chat) return;
  try {
    const { block, form } = await recall(context(), settings(), owner(), contextSize);
    // The user may have opened another chat meanwhile.
    if (context().getCurrentChatId() !== chat) return;
    setBlock(block);
    showStatus(translate(FORMS[form] ?? FORMS.question, block ? block.split("\n").length - 1 : 0));
  } catch (error) {
    report(error);
  }
};

/** Returns the work on the open chat, or null without a chat. */
function openSync() {
  if (!context().getCurrentChatId()) return null;
  const onProgress = (done, total) => {
    if (total >= MIN_PROGRESS) showStatus(translate("Stored ${0} of ${1} messages.", done, total));
  };
  return new ChatSync(context(), settings(), owner(), { isGenerating, mayBeStored, onProgress });
}

async function syncChat() {
  const sync = openSync();
  if (!sync) return;
  if (!settings().enabled) {
    // Messages that are written while the memory is off stay out of it.
    leaveOut(sync.state, sync.messages);
    sync.save();
    return;
  }
  try {
    await sync.run();
    mayBeStored = false;
  } catch (error) {
    scheduleSync(RETRY_DELAY_MS);
    throw error;
  }
}

function enqueue(work) {
  let version;
  queue = queue
    .then(() => {
      version = settingsVersion;
      return work();
    })
    .catch((error) => {
      if (version === settingsVersion) report(error);
    });
  return queue;
}

function scheduleSync(delay) {
  clearTimeout(timer);
  timer = setTimeout(() => enqueue(syncChat), delay);
}

const onChange = () => scheduleSync(SYNC_DELAY_MS);

function onChatChanged() {
  isGenerating = false;
  mayBeStored = true;
  setBlock("");
  // Notes at once which messages the chat has: those that follow are new.
  if (context().getCurrentChatId()) chatState(context(), owner());
  onChange();
}

function listen() {
  const { eventSource, eventTypes } = context();
  eventSource.on(eventTypes.CHAT_CHANGED, onChatChanged);
  eventSource.on(eventTypes.GENERATION_STARTED, (type, _options, isDryRun) => {
    if (!isDryRun && type !== "quiet") isGenerating = true;
  });
  for (const event of [eventTypes.GENERATION_ENDED, eventTypes.GENERATION_STOPPED]) {
    eventSource.on(event, () => {
      isGenerating = false;
      onChange();
    });
  }
  const changes = ["SENT", "RECEIVED", "EDITED", "UPDATED", "DELETED", "SWIPED", "SWIPE_DELETED"];
  for (const change of changes) {
    const event = eventTypes[`MESSAGE_${change}`];
    if (event) eventSource.on(event, onChange);
  }
}

async function testConnection() {
  shownAt.clear();
  try {
    await request(settings(), "POST", "search", { query: "memory", top_k: 1, filters: { user_id: owner().user_id } });
    showStatus(translate('The server answers. The user is "${0}".', owner().user_id));
  } catch (error) {
    report(error);
  }
}

async function storeChat() {
  const sync = openSync();
  if (!sync) return;
  includeEarlier(sync.state);
  await enqueue(syncChat);
}

async function forgetChat() {
  const sync = openSync();
  if (!sync) return;
  const question = translate("Delete everything that the memory has of this chat? This cannot be undone.");
  if (!(await context().Popup.show.confirm(translate("Memory"), question))) return;
  await enqueue(async () => {
    await sync.forget();
    setBlock("");
    showStatus(translate("Everything of this chat is deleted from the memory."));
  });
}

/** Shows a setting in its field, and takes over valid changes. */
function bindSetting(name) {
  const field = element(name);
  const isCheckbox = field.type === "checkbox";
  if (isCheckbox) field.checked = settings()[name];
  else field.value = settings()[name];
  // Not at each letter: half a name is another user.
  field.addEventListener("change", () => {
    const range = RANGES[name];
    const value = isCheckbox ? field.checked : range ? field.valueAsNumber : field.value;
    const isValid = !range || (value >= range[0] && value <= range[1]);
    field.setCustomValidity(isValid ? "" : translate("Write a number from ${0} to ${1}.", ...range));
    field.reportValidity();
    if (!isValid) return;
    settings()[name] = value;
    settingsVersion += 1;
    shownAt.clear();
    context().saveSettingsDebounced();
    if (name === "enabled") {
      setBlock("");
      enqueue(syncChat);
    }
  });
}

/** Returns the account of SillyTavern, which is the user unless the settings name another. */
async function accountHandle() {
  const response = await fetch("/api/users/me", { headers: context().getRequestHeaders() });
  return response.ok ? (await response.json()).handle : handle;
}

async function start() {
  const { extensionSettings, renderExtensionTemplateAsync } = context();
  extensionSettings[NAME] = { ...DEFAULTS, ...extensionSettings[NAME] };
  handle = await accountHandle().catch(() => handle);
  const html = await renderExtensionTemplateAsync(FOLDER, "settings");
  document.getElementById("extensions_settings2").insertAdjacentHTML("beforeend", html);
  element("user").placeholder = handle;
  Object.keys(DEFAULTS).forEach(bindSetting);
  element("test").addEventListener("click", testConnection);
  element("store").addEventListener("click", storeChat);
  element("forget").addEventListener("click", forgetChat);
  listen();
  onChatChanged();
}

start();
