/** Limits of the model exam. */

/** A task's check may take this long. */
export const check_ms = 30_000;
/** Of a check's output this much is kept. */
export const checkOutput_chars = 600;
/** How often a run is looked at. */
export const poll_ms = 500;
/** How long server and worker may take to come up. */
export const start_ms = 120_000;
/** After a time limit a run is aborted; a worker that does not answer is waited for this long. */
export const abort_ms = 60_000;
/** Larger files are no material for an exam. */
export const maxTaskFile_bytes = 2 * 1024 * 1024;
/** Pauses of one run that the exam answers: more than one approval comes only from a conflict, which a scratch copy cannot have. */
export const maxApprovals = 3;
/** Of a task that is asked directly: what fits a context of 16,384 tokens. */
export const directInput_tokens = 8_000;
export const directOutput_tokens = 1_024;
/** Of what the peer prints the end is kept. */
export const peerOutput_chars = 600;
/** Draws of one task. */
export const maxDraws = 20;
