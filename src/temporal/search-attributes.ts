/**
 * The search attributes that make runs findable in the Temporal UI. The worker creates them before it polls: a run started with an
 * unregistered attribute is refused, and an upsert of one leaves a run failing its task for ever. Where the worker may not create
 * them (Temporal Cloud, strict clusters), runs go without: the answer is recorded in the result of the run's first activity.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../shared/names.js';

const ATTRIBUTES_APPEAR_MS = 15_000; // bound: A cluster's caches take a moment to learn a new attribute.
const ATTRIBUTES_POLL_MS = 100; // bound: It is looked for this often.

/** Temporal's number for the type Keyword (`temporal.api.enums.v1.IndexedValueType`). */
const KEYWORD = 2;
const NAMES: readonly string[] = Object.values(SEARCH_ATTRIBUTES);
/** Arguments of `temporal server start-dev`, so that the namespace has the attributes from its first moment. An existing one ignores them. */
export const attributeFlags = (): readonly string[] =>
  NAMES.flatMap((name) => ['--search-attribute', `${name}=Keyword`]);

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

/**
 * Whether runs in this namespace may carry the attributes: true once all exist as Keyword, created here if need be.
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
