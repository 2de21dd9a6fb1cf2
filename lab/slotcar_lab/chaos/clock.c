/* A wall clock that can be set, for one controller and all that it starts: loaded through LD_PRELOAD.
 *
 * The file named by SLOTCAR_CHAOS_CLOCK holds how many seconds the wall clock is ahead (a 64-bit integer). It is mapped into
 * memory, so that a change is seen at once. Monotonic clocks and sleeps for a length of time stay as they are, as on a
 * machine whose clock is set. PostgreSQL keeps the right time: it stands for a server on another machine.
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

static const long right = 0;
static const volatile long *ahead_s;

static long ahead(void)
{
    if (!ahead_s) {
        const char *path = getenv("SLOTCAR_CHAOS_CLOCK");
        const char *name = program_invocation_short_name;
        int database = !strncmp(name, "postgres", 8) || !strncmp(name, "pg_", 3) || !strncmp(name, "initdb", 6);
        const volatile long *found = &right;
        int descriptor = path && !database ? open(path, 0) : -1;
        if (descriptor >= 0) {
            void *mapped = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, descriptor, 0);
            close(descriptor);
            if (mapped != MAP_FAILED) found = mapped;
        }
        ahead_s = found;
    }
    return *ahead_s;
}

int clock_gettime(int clock, timespec *now)
{
    static int (*real)(int, timespec *);
    if (!real) real = dlsym(NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && (clock == REALTIME || clock == REALTIME_COARSE || clock == TAI)) now->tv_sec += ahead();
    return failed;
}

int gettimeofday(timeval *now, void *zone)
{
    static int (*real)(timeval *, void *);
    if (!real) real = dlsym(NEXT, "gettimeofday");
    int failed = real(now, zone);
    if (!failed && now) now->tv_sec += ahead();
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
    timespec right_until = *until;
    right_until.tv_sec -= ahead();
    return real(semaphore, &right_until);
}
