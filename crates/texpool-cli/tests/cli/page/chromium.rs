//! A browser without a window, driven through pipes by the protocol of its developer tools.

use std::{
    cell::{Cell, RefCell},
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The program, and the Debian package that contains it.
const PROGRAM: &str = "chromium-headless-shell";
/// Time limit for an answer: far above what a busy machine takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A page in a browser; dropping it ends the browser.
pub(super) struct Page {
    child: Child,
    to: RefCell<ChildStdin>,
    from: Receiver<Value>,
    number: Cell<u64>,
    session: RefCell<Option<String>>,
    /// Complaints of the page, and addresses that it asked for.
    pub(super) complaints: RefCell<Vec<String>>,
    folder: TempDir,
}

impl Page {
    /// Starts the browser and opens a page in it.
    pub(super) fn open(html: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The browser reads commands from descriptor 3 and answers on 4. Its sandbox does not work for root in a
        // container.
        let script = format!(
            "exec {PROGRAM} --remote-debugging-pipe --no-sandbox --disable-dev-shm-usage --no-first-run \
             --disable-background-networking --user-data-dir=\"$0\" about:blank 3<&0 4>&1 >/dev/null 2>&1 </dev/null"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .arg(folder.path().join("profile"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The program is a script that starts more processes; in a group, all of them can be ended together.
            .process_group(0)
            .spawn()
            .unwrap();
        let (tell, from) = channel();
        let answers = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for message in answers.split(0).map_while(Result::ok) {
                if tell.send(serde_json::from_slice(&message).unwrap_or_default()).is_err() {
                    break;
                }
            }
        });
        let to = RefCell::new(child.stdin.take().unwrap());
        let (number, session, complaints) = Default::default();
        let page = Self { child, to, from, number, session, complaints, folder };
        let target = page.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = page.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        *page.session.borrow_mut() = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.resize(1280, 900);
        let file = page.folder.path().join("page.html");
        fs::write(&file, html).unwrap();
        page.navigate(&file);
        page
    }

    fn navigate(&self, file: &Path) {
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        let begun = Instant::now();
        while self.eval("!!(window.texpool && window.texpool.ready)") != true {
            assert!(begun.elapsed() < PATIENCE, "the page does not start: {:?}", self.complaints.borrow());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Calls a method of the protocol, and returns its result.
    pub(super) fn call(&self, method: &str, params: Value) -> Value {
        let number = self.number.get() + 1;
        self.number.set(number);
        let mut message = json!({"id": number, "method": method, "params": params});
        if let Some(session) = &*self.session.borrow() {
            message["sessionId"] = json!(session);
        }
        let sent = self.to.borrow_mut().write_all(format!("{message}\0").as_bytes());
        sent.unwrap_or_else(|error| panic!("{PROGRAM}: {error}; `apt-get install {PROGRAM}` installs it"));
        loop {
            let answer = self.from.recv_timeout(PATIENCE).unwrap_or_else(|error| {
                panic!("{PROGRAM} does not answer {method}: {error}; `apt-get install {PROGRAM}` installs it")
            });
            if answer["id"] == number {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.note(&answer);
        }
    }

    /// Notes what the page must not do: complain, or ask for anything but its own file.
    fn note(&self, event: &Value) {
        let params = &event["params"];
        let complaint = match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" => Some(params["args"].to_string()),
            "Log.entryAdded" => Some(params["entry"].to_string()),
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                (!url.starts_with("file:") && !url.starts_with("data:")).then(|| format!("it asked for {url}"))
            }
            _ => None,
        };
        self.complaints.borrow_mut().extend(complaint);
    }

    /// Evaluates an expression in the page; a promise is waited for.
    pub(super) fn eval(&self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Presses and releases the left button.
    pub(super) fn click(&self, x: f64, y: f64) {
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", params);
        }
    }

    /// Turns the wheel.
    pub(super) fn wheel(&self, x: f64, y: f64, by: f64) {
        self.call("Input.dispatchMouseEvent", json!({"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": by}));
    }

    /// Presses a key by its name; a key of one letter is typed.
    pub(super) fn key(&self, key: &str) {
        let mut down = json!({"type": "keyDown", "key": key});
        if key.chars().count() == 1 {
            down["text"] = json!(key);
        }
        self.call("Input.dispatchKeyEvent", down);
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key}));
    }

    pub(super) fn type_text(&self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    pub(super) fn resize(&self, width: u32, height: u32) {
        let params = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", params);
    }

    /// Sets what the page is told of its reader: a light or dark scheme.
    pub(super) fn scheme(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.child.wait();
    }
}
