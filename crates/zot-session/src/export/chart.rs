//! Tokens and cost of each turn as a small image.

use std::fmt::Write as _;

use super::html::escaped;
use super::spent;
use crate::TurnUsage;

const HEIGHT: f64 = 72.0;
const WIDTH: f64 = 720.0;

/// With more turns, several share a bar, so that bars stay visible.
const MAX_BARS: usize = 240;

/// Draws bars for the tokens of each turn and a line for the cost so far; returns nothing if
/// nothing was spent.
pub(super) fn chart(turns: &[TurnUsage]) -> String {
    let most = |of: fn(&TurnUsage) -> u64| turns.iter().map(of).max().unwrap_or_default();
    let tallest = most(|turn| turn.usage.prompt_tokens() + turn.usage.output);
    if tallest == 0 {
        return String::new();
    }
    let per_bar = turns.len().div_ceil(MAX_BARS).max(1);
    let bars: Vec<&[TurnUsage]> = turns.chunks(per_bar).collect();
    let step = WIDTH / bars.len() as f64;
    let total: f64 = turns.iter().map(|turn| turn.usage.cost_usd).sum();
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" \
         aria-label=\"tokens and cost per turn\">",
        HEIGHT + 2.0
    );
    let mut spent_so_far = 0.0;
    let mut line = String::new();
    for (index, bar) in bars.iter().enumerate() {
        let left = index as f64 * step;
        let heaviest = bar
            .iter()
            .max_by_key(|turn| turn.usage.prompt_tokens() + turn.usage.output);
        let Some(turn) = heaviest else { continue };
        let scale = |tokens: u64| tokens as f64 / tallest as f64 * (HEIGHT - 4.0);
        let input = scale(turn.usage.prompt_tokens());
        let output = scale(turn.usage.output).max(0.5);
        let width = (step - 1.0).clamp(0.5, 24.0);
        let number = index * per_bar + 1;
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<g><title>turn {number}: {}</title>\
             <rect class=\"in\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{input:.1}\"/>\
             <rect class=\"out\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{output:.1}\"/></g>",
            escaped(&spent(&turn.usage)),
            HEIGHT - input,
            HEIGHT - input - output,
        );
        spent_so_far += bar.iter().map(|turn| turn.usage.cost_usd).sum::<f64>();
        if total > 0.0 {
            let height = HEIGHT - spent_so_far / total * (HEIGHT - 4.0);
            let _ = write!(line, "{:.1},{height:.1} ", left + width / 2.0);
        }
    }
    if !line.is_empty() {
        let _ = write!(svg, "<polyline class=\"cost\" points=\"{}\"/>", line.trim());
    }
    svg.push_str(
        "</svg><p class=\"legend\"><i class=\"in\"></i>tokens in <i class=\"out\"></i>tokens out",
    );
    if total > 0.0 {
        let _ = write!(
            svg,
            " <i class=\"cost\"></i>cost so far, ${total:.4} in all"
        );
    }
    svg.push_str("</p>");
    svg
}
