/**
 * The four search attributes that make runs findable in the Temporal UI. The worker creates them before it polls: a run started with an
 * unregistered attribute is refused, and an upsert of one leaves a run failing its task for ever. Where the worker may not create
 * them (Temporal Cloud, strict clusters), runs go without: the answer is recorded in the run's input.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Client,
  isGrpcServiceError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  type ConnectionLike,
} from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../shared/names.js';

const ATTRIBUTES_APPEAR_MS = 15_000; // bound: A cluster's caches take a moment to learn a new attribute.
const ATTRIBUTES_POLL_MS = 100; // bound: It is looked for this often.

/** Temporal's number for the type Keyword (`temporal.api.enums.v1.IndexedValueType`). */
const KEYWORD = 2;
const NAMES: readonly string[] = Object.values(SEARCH_ATTRIBUTES);

/**
 * With SQL visibility the namespace tells them, as names of its columns (`Keyword01`). There the list costs the server (1.32) a connection
 * to itself that it never closes: one a run, until no file can be opened.
 */
const typesOf = async (
  { workflowService, operatorService }: ConnectionLike,
  namespace: string,
): Promise<Readonly<Record<string, number | undefined>>> => {
  const { config } = await workflowService.describeNamespace({ namespace });
  const columns = Object.entries(config?.customSearchAttributeAliases ?? {});
  const told = Object.fromEntries(
    columns.map(([column, name]) => [name, /^Keyword\d/.test(column) ? KEYWORD : 0]),
  );
  if (NAMES.every((name) => name in told)) return told;
  return (await operatorService.listSearchAttributes({ namespace })).customAttributes;
};

/** Has a worker of ours been here, or somebody who prepared the namespace for one? */
export const hasSearchAttributes = async (
  connection: ConnectionLike,
  namespace: string,
): Promise<boolean> => {
  const found = await typesOf(connection, namespace);
  return NAMES.every((name) => found[name] !== undefined);
};

/**
 * Whether runs in this namespace may carry the attributes: true once all four exist as Keyword, created here if need be.
 * False, with one sentence to `tell`, where that may not be done or an attribute has another type (adding it again would be
 * silently ignored by the server, so types are compared).
 */
export const ensureSearchAttributes = async (
  connection: ConnectionLike,
  namespace: string,
  tell: (why: string) => void = () => undefined,
): Promise<boolean> => {
  const types = () => typesOf(connection, namespace);
  const without = (why: string): boolean => {
    tell(why);
    return false;
  };
  try {
    let found = await types();
    const missing = NAMES.filter((name) => found[name] === undefined);
    if (missing.length > 0) {
      const searchAttributes = Object.fromEntries(missing.map((name) => [name, KEYWORD]));
      await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
    }
    for (const end = performance.now() + ATTRIBUTES_APPEAR_MS; ; found = await types()) {
      const other = NAMES.find((name) => found[name] !== undefined && found[name] !== KEYWORD);
      if (other !== undefined)
        return without(
          `Search attribute ${other} is not of type Keyword: runs have no search attributes.`,
        );
      if (NAMES.every((name) => found[name] === KEYWORD)) return true;
      if (performance.now() > end)
        return without(
          `The server did not show its new search attributes within ${ATTRIBUTES_APPEAR_MS} ms: runs do not use them.`,
        );
      await sleep(ATTRIBUTES_POLL_MS);
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return without(
      `Search attributes cannot be listed or created here (${why.slice(0, 200)}): runs do not use them.`,
    );
  }
};

/**
 * By the server's words (1.31, 1.32): its code, INVALID_ARGUMENT, says no more than that something of the request is wrong. A worker's
 * connection has them in the message only, a client's in the details, too.
 */
const isUnmapped = (error: unknown): boolean => {
  const cause = error instanceof ServiceError ? error.cause : error;
  return (
    isGrpcServiceError(cause) && cause.message.includes('no mapping defined for search attribute')
  );
};

/**
 * Does what names the attributes. A frontend of a cluster refuses them for about a second after the server lists them, so a refusal
 * for that reason is tried again for `ATTRIBUTES_APPEAR_MS`; then, and for every other reason, it is thrown.
 */
export const onceMapped = async <T>(call: () => Promise<T>): Promise<T> => {
  for (const end = performance.now() + ATTRIBUTES_APPEAR_MS; ;) {
    try {
      return await call();
    } catch (error) {
      if (!isUnmapped(error) || performance.now() > end) throw error;
    }
    await sleep(ATTRIBUTES_POLL_MS);
  }
};

/** One id a namespace: while the server keeps its closed run, a start is refused after its attributes were accepted, and leaves nothing. */
const PROBE = 'emend-search-attributes';

/** Resolves once the server has accepted a start with all four attributes. The run that it starts is no workflow of ours and ends at once. */
export const awaitUsable = async (connection: ConnectionLike, namespace: string): Promise<void> => {
  const { workflow } = new Client({ connection, namespace });
  try {
    const run = await onceMapped(() =>
      workflow.start(PROBE, {
        workflowId: PROBE,
        taskQueue: PROBE,
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowExecutionTimeout: '1 minute',
        staticSummary: 'A worker checked whether runs can have search attributes',
        typedSearchAttributes: NAMES.map((name) => ({
          key: defineSearchAttributeKey(name, 'KEYWORD'),
          value: 'probe',
        })),
      }),
    );
    await run.terminate('accepted');
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
};
