/**
 * The errors of pagefence. Each message names the thing, the value that it had and what to do about it.
 */

/** Common base, so that a caller can tell our errors from everybody else's. */
export class PagefenceError extends Error {
  override name = 'PagefenceError';
}

/** A configuration, an argument or a request that cannot work, whatever the state of the system. */
export class ConfigError extends PagefenceError {
  override name = 'ConfigError';
}

/** A trace or another input file that is not what its format promises. */
export class InputError extends PagefenceError {
  override name = 'InputError';
}

/** No adapter, a lost device, memory refused, a validation error: the device side said no. */
export class DeviceError extends PagefenceError {
  override name = 'DeviceError';
}

/** The device refused memory that its limits allow. Less of it may be granted. */
export class DeviceMemoryError extends DeviceError {
  override name = 'DeviceMemoryError';
}

/** A rule of the cache was broken. Always a bug in pagefence or in the code that drives it. */
export class InvariantError extends PagefenceError {
  override name = 'InvariantError';
}

/** Throws `InvariantError` unless the condition holds. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}
