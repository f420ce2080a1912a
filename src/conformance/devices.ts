/** The devices of a run: one that cases share, replaced when a case has harmed it, and those that a case asks for. */
import { asRejection } from './workbench.ts';
import { within } from './wait.ts';
import type { AcquiredAdapter } from '../runtime/adapter.ts';

const SCOPES = ['internal', 'out-of-memory', 'validation'] as const;

/** Cases that may each take the whole time of a wait. */
const HANGS_PATIENT = 4;

export class SuiteDevices {
  private readonly acquire: () => Promise<AcquiredAdapter>;
  /** Milliseconds that one wait may take. */
  waitMs: number;
  private shared: { device: GPUDevice; lost: string | null } | null = null;
  private readonly own: GPUDevice[] = [];
  private hangs = 0;
  /** Kept when the device changes, failures as well: what hangs once hangs again, and each time takes long. */
  private readonly batches = new Map<string, Promise<unknown>>();

  constructor(acquire: () => Promise<AcquiredAdapter>, waitMs: number) {
    this.acquire = acquire;
    this.waitMs = waitMs;
  }

  /** The shared device; a new one where there is none, or no longer. */
  async open(): Promise<GPUDevice> {
    if (this.shared !== null && this.shared.lost === null) return this.shared.device;
    this.close();
    const { adapter } = await this.adapter();
    const device = await within(
      adapter.requestDevice({ label: 'pagefence conformance' }),
      this.waitMs,
      'requestDevice',
    );
    const shared = { device, lost: null as string | null };
    void device.lost.then(({ reason, message }) => {
      shared.lost = `the device was lost (${reason})${message === '' ? '' : `: ${message}`}`;
    });
    this.shared = shared;
    return device;
  }

  adapter(): Promise<AcquiredAdapter> {
    return within(this.acquire(), this.waitMs, 'requestAdapter');
  }

  /** A device that `releaseOwn` destroys. Rejects with what the adapter refused. */
  async openOwn(descriptor?: GPUDeviceDescriptor): Promise<GPUDevice> {
    const { adapter } = await this.adapter();
    const device = await within(adapter.requestDevice(descriptor), this.waitMs, 'requestDevice');
    this.own.push(device);
    return device;
  }

  releaseOwn(): void {
    for (const device of this.own.splice(0)) device.destroy();
  }

  /** One result a key. */
  once<Value>(key: string, make: () => Promise<Value>): Promise<Value> {
    const known = this.batches.get(key) as Promise<Value> | undefined;
    if (known) return known;
    const made = make();
    this.batches.set(key, made);
    return made;
  }

  /**
   * Runs `body` on the shared device and says what went wrong there that `body` did not ask for: errors in no scope of
   * its own, or the loss of the device. Null where nothing did.
   */
  async watched<Value>(body: () => Promise<Value>): Promise<{ value: Value; stray: string | null }> {
    const device = await this.open();
    for (const scope of SCOPES) device.pushErrorScope(scope);
    let value: Value;
    let errors: (string | null)[];
    try {
      value = await body();
    } finally {
      // Whatever becomes of them, the scopes are closed.
      const popped = Promise.all(SCOPES.map(() => device.popErrorScope()));
      errors = await within(popped, this.waitMs, 'popErrorScope').then(
        (found) => found.map((error) => error?.message ?? null),
        (error: unknown) => {
          this.discard();
          return [`error scopes of the shared device: ${asRejection(error).message}`];
        },
      );
    }
    const error = errors.find((message) => message !== null) ?? null;
    return { value, stray: this.shared?.lost ?? error };
  }

  /** Gives up a shared device that did not answer. After a few of these there is less patience with the next ones. */
  discardHanging(): void {
    this.discard();
    this.hangs += 1;
    if (this.hangs === HANGS_PATIENT) this.waitMs /= 10;
  }

  /** Gives up the shared device: nobody knows what state it is in. */
  discard(): void {
    this.shared?.device.destroy();
    this.shared = null;
  }

  close(): void {
    this.discard();
    this.releaseOwn();
  }
}
