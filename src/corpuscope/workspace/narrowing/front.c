/* Stands before rg and grep in the sandbox: tells the index what was typed, and becomes the real program, with the
 * arguments as they were or with the files that can match in the place of folders.
 *
 * A program of its own, and in C, because its start is paid with every command: half a millisecond. Whatever goes wrong
 * here, the real program runs with what was typed.
 *
 * Asked of the socket, each field ending in NUL: the program, the folder, what stdin is, then the arguments. Answered:
 * nothing, or the arguments to use, each ending in NUL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET "/opt/corpuscope/index"
#define RIPGREP "/opt/corpuscope/real/rg"
#define RIPGREPRC "/opt/corpuscope/ripgreprc"
#define MAX_QUESTION (1 << 17)
#define PATIENCE 10 /* seconds */
#define MANY 64     /* arguments: they name files */

static const char *const greps[] = {"/usr/bin/grep", "/bin/grep", NULL};

static int is_rg(char **argv) {
    const char *slash = strrchr(argv[0], '/');
    return strcmp(slash ? slash + 1 : argv[0], "rg") == 0;
}

/* Returns only when the program cannot be started, as with more arguments than the kernel takes. */
static void become(char **argv) {
    if (is_rg(argv))
        execv(RIPGREP, argv);
    else
        for (const char *const *grep = greps; *grep; grep++)
            execv(*grep, argv);
}

/* Whether grep may be asked to walk folders: the usual `... | grep WORD` is spared the question. */
static int may_recurse(char **argv) {
    for (int i = 1; argv[i]; i++)
        if (argv[i][0] == '-' && (strpbrk(argv[i], "rR") || strncmp(argv[i], "--d", 3) == 0))
            return 1;
    return 0;
}

static int is_a(const char *path, mode_t kind) {
    struct stat found;
    return stat(path, &found) == 0 && (found.st_mode & S_IFMT) == kind;
}

static int input_may_be_searched(void) {
    struct stat input;
    return fstat(0, &input) == 0 && (S_ISREG(input.st_mode) || S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode));
}

/* Whether rg looks at files that are named, or at its input, and walks no folder: then there is nothing to narrow. */
static int walks_nothing(int argc, char **argv) {
    if (argc > MANY)
        return 1;
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '-' && is_a(argv[i], S_IFDIR))
            return 0;
    return input_may_be_searched() || (argc > 2 && argv[argc - 1][0] != '-' && is_a(argv[argc - 1], S_IFREG));
}

static int worth_asking(int argc, char **argv) {
    const char *config = getenv("RIPGREP_CONFIG_PATH");
    if (is_rg(argv))
        return config && strcmp(config, RIPGREPRC) == 0 && !walks_nothing(argc, argv);
    return !getenv("POSIXLY_CORRECT") && may_recurse(argv);
}

static int add(char *question, size_t *size, const char *field) {
    size_t length = strlen(field) + 1;
    if (*size + length > MAX_QUESTION)
        return 0;
    memcpy(question + *size, field, length);
    *size += length;
    return 1;
}

static size_t ask(char **argv, char *question) {
    char folder[4096];
    size_t size = 0;
    if (!getcwd(folder, sizeof folder) || !add(question, &size, is_rg(argv) ? "rg" : "grep") ||
        !add(question, &size, folder) || !add(question, &size, input_may_be_searched() ? "readable" : ""))
        return 0;
    for (int i = 1; argv[i]; i++)
        if (!add(question, &size, argv[i]))
            return 0;
    return size;
}

static int connected(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SOCKET};
    struct timeval patience = {.tv_sec = PATIENCE};
    int number = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (number < 0)
        return -1;
    setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return connect(number, (struct sockaddr *)&address, sizeof address) < 0 ? -1 : number;
}

static int sent(int number, const char *data, size_t size) {
    while (size) {
        ssize_t part = send(number, data, size, MSG_NOSIGNAL);
        if (part <= 0)
            return 0;
        data += part;
        size -= part;
    }
    return shutdown(number, SHUT_WR) == 0;
}

/* The whole answer, ending in NUL; NULL for none, or one that was cut off. */
static char *answered(int number, size_t *size) {
    size_t room = 1 << 16;
    char *data = malloc(room);
    *size = 0;
    while (data) {
        ssize_t part = recv(number, data + *size, room - *size, 0);
        if (part < 0)
            return NULL;
        if (part == 0)
            return *size && data[*size - 1] == '\0' ? data : NULL;
        *size += part;
        if (*size == room)
            data = realloc(data, room *= 2);
    }
    return NULL;
}

/* The arguments that were answered, behind the name of the program; NULL for none. */
static char **better(int argc, char **argv) {
    static char question[MAX_QUESTION];
    size_t size, count = 0;
    int number;
    if (!worth_asking(argc, argv) || !(size = ask(argv, question)) || (number = connected()) < 0 || !sent(number, question, size))
        return NULL;
    char *field = answered(number, &size);
    for (size_t i = 0; field && i < size; i++)
        count += field[i] == '\0';
    char **arguments = field ? calloc(count + 2, sizeof *arguments) : NULL;
    if (!arguments)
        return NULL;
    arguments[0] = argv[0];
    for (size_t i = 1; i <= count; i++, field += strlen(field) + 1)
        arguments[i] = field;
    return arguments;
}

int main(int argc, char **argv) {
    if (argc < 1)
        return 127;
    char **arguments = better(argc, argv);
    if (arguments)
        become(arguments);
    become(argv);
    fprintf(stderr, "%s: the program itself cannot be started\n", argv[0]);
    return 127;
}
