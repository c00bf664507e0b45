//! Markdown as lines, all at once or as it arrives.

mod long;
mod render;
mod stream;
#[cfg(test)]
mod tests;

pub use render::render;
pub use stream::MarkdownStream;
