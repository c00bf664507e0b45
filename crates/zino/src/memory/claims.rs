//! The claims of `mem` as a service of their own, for callers that may do nothing else.

use std::sync::Arc;

use zot_conversation::BoxFuture;
use zot_wire::zino::claims::{Claim, Request, Response};
use zot_wire::zino::memory;

use super::{MemoryService, Store, last_frame};
use crate::kind::ServiceKind;
use crate::service::{Responses, Service};

/// Serves claims, and nothing else of `mem`.
pub struct ClaimsService(Arc<MemoryService>);

impl ClaimsService {
    /// Its name on the bus.
    pub const NAME: &'static str = "claims";

    pub fn new(memory: Arc<MemoryService>) -> Self {
        Self(memory)
    }
}

impl Service for ClaimsService {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Memory
    }

    fn handle(&self, request: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let response = match &self.0.0 {
                Store::Files(_) => unshared_claim(&request),
                Store::Postgres(store) => {
                    let response = store.claim(request).await;
                    last_frame(response.map_err(Into::into))
                }
            };
            responses.finish(claims_response(response)).await;
        })
    }
}

/// Responds for a store that only one process uses: it remembers no claims.
pub(super) fn unshared_claim(request: &Request) -> memory::Response {
    match request {
        Request::Take { .. } => memory::Response::Claim(Claim::Unshared),
        Request::Renew { .. } | Request::Finish { .. } => memory::Response::Done,
    }
}

fn claims_response(response: memory::Response) -> Response {
    match response {
        memory::Response::Claim(claim) => Response::Claim(claim),
        memory::Response::Error(failure) => Response::Error(failure),
        _ => Response::Done,
    }
}
