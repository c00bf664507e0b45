//! Claims on the running of code.

use std::time::Duration;

use serde_json::Value;
use tokio_postgres::{Error as PostgresError, Row};
use zot_wire::zino::claims::{Claim, Request};
use zot_wire::zino::executor::ExecutionResult;
use zot_wire::zino::memory::Response;

use super::PostgresStore;
use crate::memory::error::StoreError;
use crate::postgres::{Effort, Parameter, Refusal, bytes, escaped, seconds, text};

/// How long code counts as running without a sign of its runner.
///
/// Limit: the code counts as interrupted.
const CLAIM_LEASE_TIME: Duration = Duration::from_secs(10);

/// How long results are kept.
///
/// Limit: the claim and its result are removed.
const CLAIM_KEEPING_TIME: Duration = Duration::from_secs(24 * 60 * 60);

impl PostgresStore {
    pub(in crate::memory) async fn claim(&self, request: Request) -> Result<Response, StoreError> {
        let call = escaped(request.call()).into_owned();
        let owner = escaped(request.owner()).into_owned();
        let lease = CLAIM_LEASE_TIME.as_secs_f64();
        // Named by their call and owner: whether they ran matters, but not how often.
        let effort = self.efforts.append();
        match &request {
            Request::Take { .. } => {
                let statement = "select claim_state, claim_result
                    from zino_take_claim($1, $2, make_interval(secs => $3))";
                let parameters = [text(&call), text(&owner), seconds(&lease)];
                let rows = self.change_claim(&request, statement, &parameters, effort);
                let rows = rows.await?;
                let claim = rows.first().map(claim).transpose();
                let claim = claim.map_err(|error| self.pool.unavailable(error))?;
                Ok(Response::Claim(
                    claim.flatten().unwrap_or(Claim::Interrupted),
                ))
            }
            Request::Renew { .. } => {
                let statement = "select zino_renew_claim($1, $2, make_interval(secs => $3))::text";
                let parameters = [text(&call), text(&owner), seconds(&lease)];
                let effort = self.efforts.read();
                self.change_claim(&request, statement, &parameters, effort)
                    .await?;
                Ok(Response::Done)
            }
            Request::Finish { result, .. } => {
                let result = result.as_ref().map(serde_json::to_vec).transpose();
                let result = result.map_err(|_| StoreError::Stopped)?;
                let statement = "select zino_finish_claim($1, $2, $3)::text";
                let parameters = [text(&call), text(&owner), bytes(&result)];
                self.change_claim(&request, statement, &parameters, effort)
                    .await?;
                Ok(Response::Done)
            }
        }
    }

    async fn change_claim(
        &self,
        request: &Request,
        statement: &str,
        parameters: &[Parameter<'_>],
        effort: Effort,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = self.pool.query(statement, parameters, effort).await;
        rows.map_err(|refusal| match refusal {
            Refusal::Moved => StoreError::ClaimEnded(request.call().to_owned()),
            refusal => refusal.into(),
        })
    }

    /// Removes claims that nobody will ask for any more.
    pub(in crate::memory) async fn remove_old_claims(&self) -> Result<(), StoreError> {
        let age = CLAIM_KEEPING_TIME.as_secs_f64();
        let statement = "delete from zino_claim
            where at < now() - make_interval(secs => $1)
                and lease_until < now() - make_interval(secs => $1)";
        let effort = self.efforts.long_read();
        self.pool.query(statement, &[seconds(&age)], effort).await?;
        Ok(())
    }
}

/// A state of a later version counts as interrupted: whether the code ran is unknown.
fn claim(row: &Row) -> Result<Option<Claim>, PostgresError> {
    let state: &str = row.try_get(0)?;
    let result: Option<&[u8]> = row.try_get(1)?;
    Ok(match state {
        "taken" => Some(Claim::Taken),
        "running" => Some(Claim::Running),
        "finished" => result.and_then(decoded).map(Claim::Finished),
        _ => None,
    })
}

fn decoded(result: &[u8]) -> Option<ExecutionResult> {
    let value: Value = serde_json::from_slice(result).ok()?;
    ExecutionResult::read(value)
}
