import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Compiles Main.java and writes its classes to standard output, as a jar. No class of it is ever loaded here. */
class Build {
    private static final int MOST = 16_000;

    public static void main(String[] arguments) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
        Classes classes = new Classes(files);
        ByteArrayOutputStream messages = new ByteArrayOutputStream();
        List<String> options = List.of("-proc:none", "-implicit:none", "-classpath", "nothing", "-encoding", "UTF-8");
        boolean sound = compiler.getTask(
            new PrintWriter(messages, true), classes, null, options, null, files.getJavaFileObjects("Main.java")).call();
        if (!sound) {
            System.err.write(messages.toByteArray(), 0, Math.min(messages.size(), MOST));
            System.err.flush();
            System.exit(1);
        }
        try (ZipOutputStream jar = new ZipOutputStream(System.out)) {
            for (Map.Entry<String, ByteArrayOutputStream> made : classes.made.entrySet()) {
                jar.putNextEntry(new ZipEntry(made.getKey()));
                made.getValue().writeTo(jar);
            }
        }
    }

    /** Keeps what the compiler writes. */
    private static class Classes extends ForwardingJavaFileManager<JavaFileManager> {
        final Map<String, ByteArrayOutputStream> made = new TreeMap<>();

        Classes(JavaFileManager manager) {
            super(manager);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(Location where, String name, JavaFileObject.Kind kind, FileObject source) {
            String path = name.replace('.', '/') + ".class";
            return new SimpleJavaFileObject(URI.create("made:///Made.class"), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return made.computeIfAbsent(path, fresh -> new ByteArrayOutputStream());
                }
            };
        }
    }
}
