//! The protocol of iTerm2, which accepts unchanged files.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::Fit;

pub(super) fn draw(file: &[u8], fit: Fit) -> String {
    format!(
        "\x1b7\x1b]1337;File=inline=1;size={};width={};height={};preserveAspectRatio=1:{}\x07\x1b8",
        file.len(),
        fit.columns,
        fit.rows,
        BASE64.encode(file),
    )
}
