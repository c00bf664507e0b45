//! Runs a command, and once more if the user allows what was in its way.

use zot_conversation::{Question, ToolOutput};

use super::offer::{self, Choice, Kept};
use super::{BashError, BashTool, Call, Ran};
use crate::sandbox::{Allowance, AllowedFor};

/// How often a call asks. What is allowed may lead to the next refusal: a host that is allowed by its name is
/// asked about again if the name leads to a private address.
///
/// Limit: the result says what else was refused, and the next call can ask about it.
const MAX_QUESTIONS_OF_A_CALL: usize = 3;

impl BashTool {
    /// Runs the command, and asks the user about what the sandbox refused as long as the answers allow it.
    pub(super) async fn run_asking(&self, call: &Call<'_>) -> Result<ToolOutput, BashError> {
        let tools = self.paths.sandbox();
        let kept = match tools.keeps_allowances() {
            true => Kept::Yes,
            false => Kept::No,
        };
        let mut ran = self.run_in_force(call).await?;
        let mut allowed = Allowed::default();
        for _ in 0..MAX_QUESTIONS_OF_A_CALL {
            let Some((allowances, question)) = self.question_about(&ran, call, &allowed, kept)
            else {
                break;
            };
            let answer = call.invocation.questions.ask(question).await;
            if call.invocation.cancel.is_cancelled() {
                break;
            }
            match offer::choice(&answer, &allowances, kept) {
                Choice::No => {
                    tools.decline(&allowances);
                    break;
                }
                Choice::Once => {
                    ran = self.run_outside(call).await?;
                    break;
                }
                Choice::Allow(period) => {
                    if let Err(error) = tools.allow(&allowances, period) {
                        ran = ran.with_note(&format!("the user allowed it, but {error}"));
                        break;
                    }
                    allowed.0.push((allowances, period));
                    ran = self.run_in_force(call).await?;
                }
            }
        }
        if let Some(note) = allowed.note() {
            ran = ran.with_note(&note);
        }
        Ok(ran.into_output())
    }

    /// Returns what would be allowed and the question about it, if it makes sense to ask.
    fn question_about(
        &self,
        ran: &Ran,
        call: &Call<'_>,
        allowed: &Allowed,
        kept: Kept,
    ) -> Option<(Vec<Allowance>, Question)> {
        let tools = self.paths.sandbox();
        let obstruction = ran.obstruction.as_ref().filter(|_| ran.may_ask)?;
        if !obstruction.may_be_lifted() {
            return None;
        }
        let mut allowances = obstruction.allowances();
        if ran.exit_code == 0 {
            // Such as `command | tail`. Whether a file was needed is less certain.
            allowances.retain(|allowance| {
                matches!(allowance, Allowance::Connect(_)) && !tools.has_declined(allowance)
            });
        }
        // What did not help the first time is not asked about again.
        allowances.retain(|allowance| !allowed.contains(allowance));
        if allowances.is_empty() && (ran.exit_code == 0 || !allowed.0.is_empty()) {
            return None;
        }
        let remark = obstruction.private_hosts();
        let question = offer::question(
            obstruction.level,
            call.script,
            &allowances,
            remark.as_deref(),
            kept,
        )?;
        Some((allowances, question))
    }
}

/// What the user has allowed during a call, and for how long.
#[derive(Debug, Default)]
struct Allowed(Vec<(Vec<Allowance>, AllowedFor)>);

impl Allowed {
    fn contains(&self, allowance: &Allowance) -> bool {
        let mut all = self.0.iter().flat_map(|(allowances, _)| allowances);
        all.any(|allowed| allowed == allowance)
    }

    /// Returns what a result says about it.
    fn note(&self) -> Option<String> {
        let answers = self.0.iter().map(|(allowances, period)| {
            let names: Vec<String> = allowances.iter().map(ToString::to_string).collect();
            let period = match period {
                AllowedFor::Session => "for this session",
                AllowedFor::Project => "in this project",
            };
            format!("{} {period}", names.join(", "))
        });
        let answers: Vec<String> = answers.collect();
        (!answers.is_empty()).then(|| {
            format!(
                "run once more: the user allowed {}",
                answers.join(", then ")
            )
        })
    }
}
