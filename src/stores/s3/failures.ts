/** Explains failures of an S3 service as problems with a command to type. No message has credentials: only the SDK ever has them. */
import { problem, ProblemError } from '../../shared/problems.js';

/** Place of a store in a bucket. */
export interface Place {
  readonly bucket: string;
  /** Empty, or a prefix that ends in `/`. */
  readonly prefix: string;
  /** `s3://bucket/prefix`, without a `/` at its end. */
  readonly url: string;
  /** True: the bucket is part of the path, not of the host's name. */
  readonly pathStyle: boolean;
}

/** Returns a key of the bucket without the store's prefix. */
export const named = ({ prefix }: Place, key: string): string => key.slice(prefix.length);

/** Thrown for bytes that do not match their hash, or have none (`unmarked`). */
export class Damaged extends Error {
  readonly unmarked: boolean;
  constructor(unmarked: boolean) {
    super('it does not match its hash');
    this.unmarked = unmarked;
  }
}

/** A failure as the SDK, Node or the service make it. */
interface Failure {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  /** Region of the bucket, in the reply to a request that named another region. */
  readonly Region?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

/** Failures without a reply that no further try changes. */
const SET_UP =
  /^(CredentialsProviderError|TokenProviderError|RegionMissing|TypeError|ENOTFOUND|ERR_INVALID_URL)$/;

/** Returns the SDK's name of a failure, Node's code (also if the SDK has wrapped it), and the status (0: there was no reply). */
const read = (error: unknown) => {
  const { name = '', code, message = '', $metadata } = error as Failure;
  return {
    name: message === 'Region is missing' ? 'RegionMissing' : name,
    code: code ?? /\bE[A-Z_]{4,}\b/.exec(message)?.[0] ?? '',
    status: $metadata?.httpStatusCode ?? 0,
  };
};

/** Returns whether there is no such object. */
export const isAbsent = (error: unknown): boolean =>
  ['NoSuchKey', 'NotFound'].includes(read(error).name);
/** Returns whether a conditional put was refused: the key exists already. */
export const isRefused = (error: unknown): boolean => read(error).status === 412;

/** Thrown for a try that took too long. */
export class TooLate extends Error {}

/** Returns whether the same request may succeed later, so that it is sent again. */
export const isTransient = (error: unknown): boolean => {
  if (error instanceof Damaged) return !error.unmarked;
  const { name, code, status } = read(error);
  if (status === 0) return ![name, code].some((word) => SET_UP.test(word));
  // 409: another conditional put of the key was in progress. Less than 300: a reply that was cut off.
  return (status >= 500 && status !== 501) || status < 300 || [408, 409, 429].includes(status);
};

export const OTHER =
  'Use another service, or a newer version of this one; `emend doctor` tries it.';

/** Known failures by name, or by status if a reply has no body, each with a clause for the reason and with advice. */
const KNOWN: readonly (readonly [
  names: RegExp,
  reasonOf: (context: Context) => string,
  adviceOf: (context: Context) => string,
])[] = [
  [
    /^NoSuchBucket$/,
    ({ bucket, endpoint }) => `there is no bucket ${bucket} at ${endpoint}`,
    ({ bucket }) => `Create it (aws s3 mb s3://${bucket}), or correct EMEND_STORE.`,
  ],
  [
    /^(CredentialsProviderError|TokenProviderError)$/,
    () => 'no credentials were found',
    () =>
      'export AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=…, or AWS_PROFILE=… for one of ~/.aws/credentials.',
  ],
  [
    /^RegionMissing$/,
    () => 'no region is set',
    () => 'export AWS_REGION=us-east-1, or the region of the bucket.',
  ],
  [
    /^(PermanentRedirect|TemporaryRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException|301|307)$/,
    ({ bucket, bucketRegion }) =>
      bucketRegion === undefined
        ? 'it refuses the request'
        : `the bucket ${bucket} is in region ${bucketRegion}`,
    ({ bucketRegion = '…' }) => `export AWS_REGION=${bucketRegion}, the region of the bucket.`,
  ],
  [
    /^(AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|403|401)$/,
    () => 'it denies access',
    ({ bucket }) =>
      `Check the credentials, and that they may get, put, list and delete objects of ${bucket}.`,
  ],
  [
    /^(RequestTimeTooSkewed)$/,
    () => "this machine's clock differs from the service's",
    () => "Set this machine's clock.",
  ],
  [
    /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ERR_INVALID_URL|TypeError)$/,
    ({ endpoint }) => `${endpoint} cannot be reached`,
    () =>
      'Set AWS_ENDPOINT_URL_S3 to the address of the service (none for AWS itself), and EMEND_STORE_PATH_STYLE=1 if buckets have no host names there.',
  ],
  [/^NotImplemented$/, () => 'it does not know conditional writes (If-None-Match)', () => OTHER],
];

/** Facts that messages name. */
interface Context {
  readonly bucket: string;
  /** Address of the service, without user and password. */
  readonly endpoint: string;
  readonly bucketRegion: string | undefined;
}

const AGAIN = 'Wait until the service works again, then retry; `emend doctor` tries the store.';

/** Returns the problem for a failure. `what` names the action, `tries` is how often it was tried. */
export const explain = (
  error: unknown,
  what: string,
  tries: number,
  { bucket }: Place,
): ProblemError => {
  const { name, code, status } = read(error);
  const { Region, $response } = error as Failure;
  const bucketRegion = $response?.headers?.['x-amz-bucket-region'] ?? Region;
  const context: Context = { bucket, endpoint: endpoint(), bucketRegion };
  const failure = (reason: string, next: string): ProblemError =>
    new ProblemError(
      problem(
        'store_unusable',
        `${what} failed: ${reason}${tries > 1 ? ` (${tries} tries)` : ''}.`,
        next,
      ),
    );
  if (error instanceof Damaged)
    return failure(
      error.unmarked
        ? 'it has no hash, so Emend did not write it'
        : 'its bytes do not match their hash',
      'Restore the object from a version or a copy of the bucket that keeps metadata.',
    );
  if (error instanceof TooLate || name === 'TimeoutError')
    return failure('no answer in time', AGAIN);
  const elsewhere =
    bucketRegion !== undefined && status >= 300 && status < 403 ? 'PermanentRedirect' : '';
  const words = [elsewhere, name, code, String(status)];
  const found = KNOWN.find(([names]) => words.some((word) => names.test(word)));
  if (found !== undefined) return failure(found[1](context), found[2](context));
  return failure(
    [status === 0 ? 'no answer' : `status ${status}`, code === '' ? name : code].join(', '),
    AGAIN,
  );
};

const endpoint = (): string => {
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = process.env;
  const url = AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL ?? '';
  return URL.canParse(url) ? new URL(url).origin : 'the endpoint of the AWS configuration';
};
