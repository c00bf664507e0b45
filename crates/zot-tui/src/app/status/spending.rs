//! What the conversation cost, for `/cost`.

/// How many turns the chart shows.
const CHART_TURNS: usize = 60;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[derive(Debug, Default)]
pub(crate) struct Spending {
    turns: Vec<Turn>,
    /// Cost of each side question.
    asides: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Turn {
    read_tokens: u64,
    written_tokens: u64,
    cost_usd: f64,
}

impl Spending {
    pub(crate) fn add_turn(&mut self, read_tokens: u64, written_tokens: u64, cost_usd: f64) {
        self.turns.push(Turn {
            read_tokens,
            written_tokens,
            cost_usd,
        });
    }

    pub(crate) fn add_aside(&mut self, cost_usd: f64) {
        self.asides.push(cost_usd);
    }

    /// Returns the report of `/cost`; `total_usd` is the cost of the whole session.
    pub(crate) fn report(&self, total_usd: f64) -> String {
        if self.turns.is_empty() && self.asides.is_empty() {
            return "nothing spent yet".to_owned();
        }
        let read: u64 = self.turns.iter().map(|turn| turn.read_tokens).sum();
        let written: u64 = self.turns.iter().map(|turn| turn.written_tokens).sum();
        let count = match self.turns.len() {
            1 => "1 turn".to_owned(),
            count => format!("{count} turns"),
        };
        let chart = self.chart();
        let mut report =
            format!("${total_usd:.4} for {count} · {read} tokens read, {written} written\n{chart}");
        if !self.asides.is_empty() {
            let spent: f64 = self.asides.iter().sum();
            let count = self.asides.len();
            report.push_str(&format!(
                "\n${spent:.4} of it for side questions (/btw × {count})"
            ));
        }
        report
    }

    fn chart(&self) -> String {
        let costs = self.turns.iter().map(|turn| turn.cost_usd);
        let highest = costs.clone().fold(0.0, f64::max);
        let last = costs.skip(self.turns.len().saturating_sub(CHART_TURNS));
        last.map(|cost| {
            let share = if highest > 0.0 { cost / highest } else { 0.0 };
            BARS[((share * 7.0).round() as usize).min(7)]
        })
        .collect()
    }
}
