"""What the check of the extension runs: SillyTavern, `memory serve`, a model service, and a browser that uses them."""

import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

from playwright.sync_api import TimeoutError, sync_playwright

EXTENSION = pathlib.Path(__file__).resolve().parent
HEADING = "Relevant long-term memory:"
SCREENSHOT = pathlib.Path(tempfile.gettempdir()) / "sillytavern.png"
START_SECONDS = 180
# A message that a busy machine could not store in time is sent again after 20 s.
WAIT_SECONDS = 60


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(condition, what, seconds=WAIT_SECONDS):
    """Returns the first true value of the condition."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError(f"after {seconds} s still not: {what}; last value: {value!r}")


def is_listening(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


class Model:
    """A chat service with OpenAI's API. It numbers its replies, and answers a rewrite with `rewritten`."""

    def __init__(self):
        self.requests, self.rewrites, self.rewritten, self.delay = [], [], "", 0
        handler = type("Handler", (_ModelHandler,), {"model": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, messages):
        time.sleep(self.delay)
        if any('"user_question"' in str(message["content"]) for message in messages):
            self.rewrites.append(messages)
            return self.rewritten
        self.requests.append(messages)
        return f"Numbered answer {len(self.requests)}."


class _ModelHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_json({"object": "list", "data": [{"id": "double", "object": "model"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = self.model.answer(body["messages"])
        if not body.get("stream"):
            return self.send_json({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for word in re.findall(r"\S+\s*", text):
            event = {"choices": [{"index": 0, "delta": {"content": word}}]}
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def send_json(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Memory:
    """`memory serve` on a port of its own, which can be stopped and started again."""

    def __init__(self, command, folder, origins, settings=""):
        self.command, self.folder, self.port = command, folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "memory.log"
        folder.mkdir()
        (folder / "memory.toml").write_text(f"cors_origins = {json.dumps(origins)}\n{settings}")
        self.process = None

    def start(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
        command = [self.command, "serve", "--listen", f"127.0.0.1:{self.port}", "--embedder", "hash"]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        wait_until(lambda: is_listening(self.port), "memory serve listens")
        return self

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=60)
            self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def turns(self, user, agent=None):
        """Returns role and text of the stored messages of a user."""
        owner = [{"user_id": user}] + ([{"agent_id": agent}] if agent else [])
        body = {"filters": {"AND": owner}, "include_turns": True, "page": 1, "page_size": 100}
        request = urllib.request.Request(
            f"{self.url}/v2/memories/", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        rows = json.load(opener.open(request, timeout=30))["results"]
        return {(row["role"], row["memory"]) for row in rows if "role" in row}


class SilentServer:
    """Accepts connections and never answers."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"


class SillyTavern:
    """The program in `package`, with data of its own and the extension in the folder that the README names."""

    def __init__(self, package, folder, model_url):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "sillytavern.log"
        data = folder / "data"
        user = data / "default-user"
        shutil.copytree(EXTENSION, user / "extensions" / "memory-engine")
        settings = json.loads((package / "default" / "content" / "settings.json").read_text())
        settings |= {"firstRun": False, "username": "Lin", "main_api": "openai"}
        service = {"chat_completion_source": "custom", "custom_url": model_url, "custom_model": "double"}
        settings["oai_settings"] |= service
        settings["power_user"] |= {"auto_connect": True, "reduced_motion": True}
        (user / "settings.json").write_text(json.dumps(settings))
        command = ["node", "server.js", "--port", str(self.port), "--browserLaunchEnabled", "false"]
        command += ["--dataRoot", str(data), "--configPath", str(folder / "config.yaml")]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, cwd=package, stdout=log, stderr=subprocess.STDOUT)

    def __enter__(self):
        try:
            wait_until(lambda: is_listening(self.port), "SillyTavern listens", START_SECONDS)
        except AssertionError:
            print(self.log.read_text()[-2000:])
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)


class Page:
    """SillyTavern in Chromium, used as a person does."""

    def __init__(self, tavern, model):
        self.model, self.console = model, []
        self.playwright = sync_playwright().start()
        options = {"executable_path": os.environ["CHROMIUM"], "args": ["--no-sandbox"]}
        self.browser = self.playwright.chromium.launch(**options)
        self.page = self.browser.new_page(viewport={"width": 1400, "height": 1000})
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.tavern = tavern
        self.open()

    def open(self, language="en"):
        self.page.goto(self.tavern.url)
        self.page.evaluate("language => localStorage.setItem('language', language)", language)
        self.page.reload()
        self.page.wait_for_selector("#memory_engine_url", state="attached", timeout=START_SECONDS * 1000)
        self.page.wait_for_function("SillyTavern.getContext().onlineStatus !== 'no_connection'", timeout=60000)
        self.page.wait_for_selector("#preloader", state="detached")
        # A notice stays until `notices` has read it, however slow the machine is.
        self.page.evaluate("toastr.options.timeOut = toastr.options.extendedTimeOut = 0")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.close()
        self.playwright.stop()

    def describe(self):
        """Prints what a failed check needs to be understood."""
        self.page.screenshot(path=SCREENSHOT)
        state = self.evaluate("SillyTavern.getContext().chatMetadata?.memory_engine")
        own_lines = [line for line in self.console if "memory-engine" in line or "rror" in line]
        print(f"see {SCREENSHOT}", self.status(), json.dumps(state), [text[:80] for text in self.messages()], *own_lines[-20:], sep="\n")

    def evaluate(self, script, *arguments):
        return self.page.evaluate(script, *arguments)

    def command(self, text):
        self.evaluate("text => SillyTavern.getContext().executeSlashCommandsWithOptions(text)", text)

    def set(self, **fields):
        """Fills fields of the settings of the extension."""
        if not self.page.locator("#rm_extensions_block").is_visible():
            self.page.click("#extensions-settings-button .drawer-toggle")
            self.page.wait_for_selector("#memory_engine_settings", state="visible")
        if self.page.locator("#memory_engine_settings .inline-drawer-icon.down").count():
            self.page.click("#memory_engine_settings .inline-drawer-toggle")
            self.page.wait_for_selector("#memory_engine_url", state="visible")
        for name, value in fields.items():
            field = self.page.locator(f"#memory_engine_{name}")
            if isinstance(value, bool):
                # The panel may still move, so that a click by position would miss.
                field.evaluate("(field, value) => field.checked === value || field.click()", value)
            else:
                field.fill(str(value))
                field.blur()

    def press(self, name):
        self.set()
        self.page.locator(f"#memory_engine_{name}").evaluate("(button) => button.click()")

    def close_settings(self):
        if self.page.locator("#rm_extensions_block").is_visible():
            self.page.click("#extensions-settings-button .drawer-toggle")
            self.page.wait_for_selector("#rm_extensions_block", state="hidden")

    def status(self):
        return self.page.locator("#memory_engine_status").text_content()

    def notices(self):
        """Returns the notices that are shown, and closes them."""
        texts = self.page.locator("#toast-container .toast-warning .toast-message").all_text_contents()
        self.evaluate("toastr.remove()")
        return texts

    def create_character(self, name):
        self.evaluate(
            """async (name) => {
                const body = new FormData();
                body.append('ch_name', name);
                body.append('first_mes', 'Good day.');
                const headers = SillyTavern.getContext().getRequestHeaders();
                delete headers['Content-Type'];
                await fetch('/api/characters/create', { method: 'POST', headers, body });
                await SillyTavern.getContext().getCharacters();
            }""",
            name,
        )

    def open_character(self, name):
        self.evaluate(
            """async (name) => {
                const { characters, selectCharacterById } = SillyTavern.getContext();
                await selectCharacterById(characters.findIndex((character) => character.name === name));
            }""",
            name,
        )
        self.page.wait_for_function("name => SillyTavern.getContext().name2 === name", arg=name)

    def open_group(self, name, members):
        self.evaluate(
            """async ([name, members]) => {
                const { characters, getCharacters, getRequestHeaders } = SillyTavern.getContext();
                const avatars = members.map((member) => characters.find(({ name }) => name === member).avatar);
                const body = JSON.stringify({ name, members: avatars });
                await fetch('/api/groups/create', { method: 'POST', headers: getRequestHeaders(), body });
                await getCharacters();
            }""",
            [name, members],
        )
        self.command(f"/go {name}")
        self.page.wait_for_function("SillyTavern.getContext().groupId !== null")

    def new_chat(self):
        before = self.chat_id()
        self.command("/newchat")
        wait_until(lambda: self.chat_id() != before, "a new chat is open")

    def chat_id(self):
        return self.evaluate("SillyTavern.getContext().getCurrentChatId()")

    def messages(self):
        return self.evaluate("SillyTavern.getContext().chat.map((message) => message.mes)")

    def say(self, text):
        """Sends a message by the button. Returns the memories in the prompt of its reply."""
        self.close_settings()
        self.page.fill("#send_textarea", text)
        return self.generate(lambda: wait_until(self.is_sent, "the message is sent"))

    def is_sent(self):
        """Presses the button, which SillyTavern ignores while it still works on the message before."""
        self.page.click("#send_but")
        is_empty = "document.querySelector('#send_textarea').value === ''"
        try:
            # Two quick presses would generate two replies.
            self.page.wait_for_function(is_empty, timeout=5000)
        except TimeoutError:
            return False
        return True

    def generate(self, action):
        count = len(self.model.requests)
        action()
        wait_until(lambda: self.is_answered(count), "the model has answered")
        return self.memories(self.model.requests[-1])

    def is_answered(self, count):
        if len(self.model.requests) == count:
            return False
        return self.evaluate(
            "text => !document.body.dataset.generating && SillyTavern.getContext().chat.at(-1).mes === text",
            f"Numbered answer {len(self.model.requests)}.",
        )

    @staticmethod
    def memories(prompt):
        """Returns the lines of the memories in a prompt, all of which are in one message of the system."""
        blocks = [message for message in prompt if HEADING in message["content"]]
        assert all(message["role"] == "system" for message in blocks) and len(blocks) <= 1, blocks
        return [line[2:] for message in blocks for line in message["content"].splitlines() if line.startswith("- ")]

    def swipe(self):
        return self.generate(lambda: self.page.locator(".last_mes .swipe_right").click())

    def swipe_back(self):
        self.page.locator(".last_mes .swipe_left").click()

    def edit(self, index, text):
        message = self.page.locator(f'.mes[mesid="{index}"]')
        message.hover()
        message.locator(".mes_edit").click()
        message.locator(".edit_textarea").fill(text)
        message.locator(".mes_edit_done").click()
