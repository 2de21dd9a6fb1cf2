/* Has a guest's processor pause where it asks for a random number (RDRAND): loaded into QEMU through LD_PRELOAD.
 *
 * An emulated RDRAND comes down to GnuTLS's gnutls_rnd, called while no lock of QEMU's is held: its other threads go on, and
 * this machine's processor is free meanwhile. To the guest it is one instruction. Its holder of time rests so
 * (lab/slotcar_lab/agent/hold.py).
 *
 * Compiled by tcc without headers; what is declared here is Linux's on 64-bit machines.
 */

typedef struct { long tv_sec; long tv_nsec; } timespec;

#define NEXT ((void *)-1L)
#define SET_TIMER_SLACK 29

extern void *dlsym(void *handle, const char *name);
extern int nanosleep(const timespec *length, timespec *left);
extern int prctl(int what, ...);

/* PAUSE_NS is defined when it is compiled: by lab/slotcar_lab/agent/hold.py. */
static const timespec pause = { 0, PAUSE_NS };

int gnutls_rnd(int level, void *data, unsigned long size)
{
    static int (*next)(int, void *, unsigned long);
    if (!next) next = dlsym(NEXT, "gnutls_rnd");
    /* Else the kernel lets a sleep end up to 50 microseconds late. */
    prctl(SET_TIMER_SLACK, 1000L);
    nanosleep(&pause, 0);
    return next(level, data, size);
}
