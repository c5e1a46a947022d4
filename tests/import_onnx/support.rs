//! What the tests share.

#[path = "../support/arrays.rs"]
mod arrays;
#[path = "../support/models.rs"]
mod models;
#[path = "../support/reference.rs"]
pub(crate) mod reference;
#[path = "../support/zoo.rs"]
pub(crate) mod zoo;
