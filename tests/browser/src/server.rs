//! Serves the page, only to this machine, and prints the lines that it reports.

use std::{
    error::Error,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::mpsc,
    thread,
    time::Duration,
};

/// Time limit for a silent page: ten times what the page takes beside other work on two cores.
const PATIENCE: Duration = Duration::from_secs(300);

const PAGE: &str = r#"<!doctype html><meta charset="utf-8"><title>texpool</title><script type="module">
// One after another, so that they arrive in order.
let sent = Promise.resolve();
window.report = line => { sent = sent.then(() => fetch("/report", { method: "POST", body: line })); };
window.onerror = text => window.report("FAILED: " + text);
window.onunhandledrejection = event => window.report("FAILED: " + event.reason);
const { default: init, run } = await import("/texpool_browser.js");
await init({ module_or_path: "/texpool_browser_bg.wasm" });
await run();
</script>"#;

/// Serves what is in `folder`, has the page opened, and waits for its end.
pub(crate) fn serve<B>(
    folder: &Path,
    open: impl FnOnce(SocketAddr) -> std::io::Result<B>,
) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (tell, lines) = mpsc::channel();
    let folder = folder.to_owned();
    // Left when the page has reported its end.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (tell, folder) = (tell.clone(), folder.clone());
            thread::spawn(move || answer(stream, &folder, &tell));
        }
    });
    let _browser = open(address)?;
    loop {
        let line = lines.recv_timeout(PATIENCE).map_err(|_| "the page says nothing any more")?;
        println!("{line}");
        match &line[..] {
            "PASSED" => return Ok(()),
            line if line.starts_with("FAILED") => return Err("a check in the browser failed".into()),
            _ => {}
        }
    }
}

/// Answers one request; errors of a broken connection are ignored.
fn answer(stream: TcpStream, folder: &Path, lines: &mpsc::Sender<String>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut request = String::new();
    reader.read_line(&mut request).ok()?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let (status, kind, body) = match request.split(' ').nth(1)? {
        "/" => ("200 OK", "text/html", PAGE.as_bytes().to_vec()),
        "/texpool_browser.js" => ("200 OK", "text/javascript", fs::read(folder.join("texpool_browser.js")).ok()?),
        "/texpool_browser_bg.wasm" => {
            ("200 OK", "application/wasm", fs::read(folder.join("texpool_browser_bg.wasm")).ok()?)
        }
        "/report" => {
            let mut line = vec![0; length];
            reader.read_exact(&mut line).ok()?;
            lines.send(String::from_utf8_lossy(&line).into_owned()).ok()?;
            ("204 No Content", "text/plain", Vec::new())
        }
        _ => ("404 Not Found", "text/plain", Vec::new()),
    };
    let mut stream = stream;
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    stream.write_all(&body).ok()
}
