/** What goes wrong with an S3 service, as a problem that says what to type. Credentials are in no message: only the SDK ever has them. */
import { problem, ProblemError } from '../../shared/problems.js';

/** Where a store lies in a bucket. */
export interface Place {
  readonly bucket: string;
  /** Empty, or ending in `/`. */
  readonly prefix: string;
  /** `s3://bucket/prefix`, without a `/` at its end. */
  readonly url: string;
  /** The bucket is part of the path, not of the host's name. */
  readonly pathStyle: boolean;
}

/** A key of the bucket, without the store's prefix. */
export const named = ({ prefix }: Place, key: string): string => key.slice(prefix.length);

/** Bytes that do not match their hash, or have none. */
export class Damaged extends Error {
  readonly unmarked: boolean;
  constructor(unmarked: boolean) {
    super('it does not match its hash');
    this.unmarked = unmarked;
  }
}

/** As the SDK, Node and the service make them. */
interface Failure {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  /** Where the bucket is, in the answer to a request that named another region. */
  readonly Region?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

/** What no further try changes, of failures without an answer. */
const SET_UP =
  /^(CredentialsProviderError|TokenProviderError|RegionMissing|TypeError|ENOTFOUND|ERR_INVALID_URL)$/;

/** The SDK's name, Node's code (also where the SDK has wrapped it), the status (0: there was no answer). */
const read = (error: unknown) => {
  const { name = '', code, message = '', $metadata } = error as Failure;
  return {
    name: message === 'Region is missing' ? 'RegionMissing' : name,
    code: code ?? /\bE[A-Z_]{4,}\b/.exec(message)?.[0] ?? '',
    status: $metadata?.httpStatusCode ?? 0,
  };
};

/** There is no such object; the key was there already. */
export const isAbsent = (error: unknown): boolean =>
  ['NoSuchKey', 'NotFound'].includes(read(error).name);
export const isRefused = (error: unknown): boolean => read(error).status === 412;

/** A try that took too long. */
export class TooLate extends Error {}

/** It may pass: the same request is sent again. */
export const isTransient = (error: unknown): boolean => {
  if (error instanceof Damaged) return !error.unmarked;
  const { name, code, status } = read(error);
  if (status === 0) return ![name, code].some((each) => SET_UP.test(each));
  // 409: another conditional put on the key was under way. Less than 400: an answer that was cut off.
  return (status >= 500 && status !== 501) || status < 300 || [408, 409, 429].includes(status);
};

export const OTHER =
  'Use another service, or a newer version of this one; `emend doctor` tries it.';

/** By the name of the failure, or by its status where an answer has no body: why, and what to do. */
const KNOWN: readonly (readonly [
  names: RegExp,
  why: (at: At) => string,
  next: (at: At) => string,
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

interface At {
  readonly bucket: string;
  /** Without user and password. */
  readonly endpoint: string;
  readonly bucketRegion: string | undefined;
}

const AGAIN = 'Wait until the service works again, then retry; `emend doctor` tries the store.';

/** `tries`: how often it was tried. */
export const explain = (
  error: unknown,
  what: string,
  tries: number,
  { bucket }: Place,
): ProblemError => {
  const { name, code, status } = read(error);
  const { Region, $response } = error as Failure;
  const bucketRegion = $response?.headers?.['x-amz-bucket-region'] ?? Region;
  const at: At = { bucket, endpoint: endpoint(), bucketRegion };
  const said = (why: string, next: string): ProblemError =>
    new ProblemError(
      problem(
        'store_unusable',
        `${what} failed: ${why}${tries > 1 ? ` (${tries} tries)` : ''}.`,
        next,
      ),
    );
  if (error instanceof Damaged)
    return said(
      error.unmarked
        ? 'it has no hash, so Emend did not write it'
        : 'its bytes do not match their hash',
      'Restore the object from a version or a copy of the bucket that keeps metadata.',
    );
  if (error instanceof TooLate || name === 'TimeoutError') return said('no answer in time', AGAIN);
  const elsewhere =
    bucketRegion !== undefined && status >= 300 && status < 403 ? 'PermanentRedirect' : '';
  const words = [elsewhere, name, code, String(status)];
  const found = KNOWN.find(([names]) => words.some((each) => names.test(each)));
  if (found !== undefined) return said(found[1](at), found[2](at));
  return said(
    [status === 0 ? 'no answer' : `status ${status}`, code === '' ? name : code].join(', '),
    AGAIN,
  );
};

const endpoint = (): string => {
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = process.env;
  const url = AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL ?? '';
  return URL.canParse(url) ? new URL(url).origin : 'the endpoint of the AWS configuration';
};
