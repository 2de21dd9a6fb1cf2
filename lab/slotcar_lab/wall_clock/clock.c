/* Another wall clock than this machine's, for one controller and all that it starts: loaded through LD_PRELOAD.
 *
 * The file named by SLOTCAR_LAB_TIME holds the time, in nanoseconds since the epoch: that of a guest in virtual time. The
 * file named by SLOTCAR_CHAOS_CLOCK holds how many seconds the wall clock is ahead of it, or of this machine's. Both are
 * 64-bit integers, and mapped into memory, so that a change is seen at once. Monotonic clocks and sleeps for a length of time
 * stay as they are, as on a machine whose clock is set. PostgreSQL keeps the right time: it stands for a server on another
 * machine.
 *
 * Compiled by tcc without headers; what is declared here is Linux's on 64-bit machines.
 */

typedef struct { long tv_sec; long tv_nsec; } timespec;
typedef struct { long tv_sec; long tv_usec; } timeval;

#define REALTIME 0
#define REALTIME_COARSE 5
#define TAI 11
#define NEXT ((void *)-1L)
#define PROT_READ 1
#define MAP_SHARED 1
#define MAP_FAILED ((void *)-1L)

extern void *dlsym(void *handle, const char *name);
extern char *getenv(const char *name);
extern int open(const char *path, int flags, ...);
extern int close(int descriptor);
extern void *mmap(void *at, unsigned long length, int protection, int flags, int descriptor, long offset);
extern int strncmp(const char *one, const char *other, unsigned long length);
extern char *program_invocation_short_name;

#define NS 1000000000L

static const long nothing = 0;
static const volatile long *time_ns, *ahead_s;

static const volatile long *mapped(const char *path)
{
    int descriptor = path ? open(path, 0) : -1;
    if (descriptor < 0) return &nothing;
    void *found = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return found == MAP_FAILED ? &nothing : found;
}

/* What it is by this clock when it is `real` by this machine's. */
static timespec wall(timespec real)
{
    if (!ahead_s) {
        const char *name = program_invocation_short_name;
        int database = !strncmp(name, "postgres", 8) || !strncmp(name, "pg_", 3) || !strncmp(name, "initdb", 6);
        time_ns = mapped(getenv("SLOTCAR_LAB_TIME"));
        ahead_s = mapped(database ? 0 : getenv("SLOTCAR_CHAOS_CLOCK"));
    }
    timespec now = real;
    long at = *time_ns;
    if (at) {
        now.tv_sec = at / NS;
        now.tv_nsec = at % NS;
    }
    now.tv_sec += *ahead_s;
    return now;
}

static int (*gettime(void))(int, timespec *)
{
    static int (*real)(int, timespec *);
    if (!real) real = dlsym(NEXT, "clock_gettime");
    return real;
}

int clock_gettime(int clock, timespec *now)
{
    int failed = gettime()(clock, now);
    if (!failed && (clock == REALTIME || clock == REALTIME_COARSE || clock == TAI)) *now = wall(*now);
    return failed;
}

int gettimeofday(timeval *now, void *zone)
{
    timespec exact;
    int failed = clock_gettime(REALTIME, &exact);
    if (!failed && now) {
        now->tv_sec = exact.tv_sec;
        now->tv_usec = exact.tv_nsec / 1000;
    }
    return failed;
}

long time(long *now)
{
    timespec exact;
    clock_gettime(REALTIME, &exact);
    if (now) *now = exact.tv_sec;
    return exact.tv_sec;
}

/* Takes an instant of the wall clock; the kernel's stays right. */
int sem_timedwait(void *semaphore, const timespec *until)
{
    static int (*real)(void *, const timespec *);
    if (!real) real = dlsym(NEXT, "sem_timedwait");
    timespec here, right;
    gettime()(REALTIME, &here);
    right = wall(here);
    long left = (until->tv_sec - right.tv_sec) * NS + until->tv_nsec - right.tv_nsec;
    long at = here.tv_sec * NS + here.tv_nsec + (left > 0 ? left : 0);
    right.tv_sec = at / NS;
    right.tv_nsec = at % NS;
    return real(semaphore, &right);
}
