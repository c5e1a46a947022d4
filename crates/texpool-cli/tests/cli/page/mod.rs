//! `texpool report`: the data of its page, the file, and the page in a browser.

#[cfg(unix)]
mod browser;
#[cfg(unix)]
mod chromium;
mod command;
mod contents;
mod data;
mod expected;
