import { isGrpcServiceError, ServiceError, type Connection } from '@temporalio/client';

/** The status numbers that we tell apart (grpc-js is not a dependency of ours). */
export const GRPC = { cancelled: 1, deadlineExceeded: 4, notFound: 5, failedPrecondition: 9, unavailable: 14 } as const;

/** Status of a failed call, whether the SDK wrapped it or not; null: not a failed call. */
export const grpcCode = (error: unknown): number | null => {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) ? cause.code : null;
};

export const hasCode = (error: unknown, ...names: readonly (keyof typeof GRPC)[]): boolean => {
  const code = grpcCode(error);
  return names.some((name) => GRPC[name] === code);
};

/**
 * Runs calls that end when `signal` aborts. The SDK never takes its listeners off the signal that it is given, so each round gets one
 * of its own: a run that is watched through many changes would pile them up on ours.
 */
export const untilAborted = async <T>(
  connection: Pick<Connection, 'withAbortSignal'>,
  signal: AbortSignal,
  call: () => Promise<T>,
): Promise<T> => {
  const round = new AbortController();
  const end = (): void => {
    round.abort();
  };
  signal.addEventListener('abort', end, { once: true });
  try {
    return await connection.withAbortSignal(round.signal, call);
  } finally {
    signal.removeEventListener('abort', end);
  }
};
